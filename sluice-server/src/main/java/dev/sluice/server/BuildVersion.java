package dev.sluice.server;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Properties;

/** The version that the build wrote into {@code version.properties}. */
final class BuildVersion {
  private BuildVersion() {}

  static String number() {
    Properties properties = new Properties();
    try (InputStream file = BuildVersion.class.getResourceAsStream("version.properties")) {
      properties.load(Objects.requireNonNull(file, "version.properties"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties.getProperty("version", "unknown");
  }
}
