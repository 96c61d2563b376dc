package dev.sluice.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/** The version that the build wrote into {@code version.properties}. */
final class BuildVersion implements IVersionProvider {
  @Override
  public String[] getVersion() {
    return new String[] {"sluice " + number()};
  }

  static String number() {
    return property("version");
  }

  /** Of the library that draws plots. */
  static String ofChartJs() {
    return property("chartjs");
  }

  private static String property(String name) {
    Properties properties = new Properties();
    try (InputStream file = BuildVersion.class.getResourceAsStream("version.properties")) {
      properties.load(Objects.requireNonNull(file, "version.properties"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties.getProperty(name, "unknown");
  }
}
