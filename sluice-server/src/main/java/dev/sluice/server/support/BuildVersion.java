package dev.sluice.server.support;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Properties;

/** The version that the build wrote into {@code version.properties}. */
public final class BuildVersion {
  private static final String RESOURCE = "/dev/sluice/server/version.properties";

  private BuildVersion() {}

  public static String number() {
    Properties properties = new Properties();
    try (InputStream file = BuildVersion.class.getResourceAsStream(RESOURCE)) {
      properties.load(Objects.requireNonNull(file, RESOURCE));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties.getProperty("version", "unknown");
  }
}
