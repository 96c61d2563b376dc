package dev.sluice.cli.runtime;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/** Returns the version that the build wrote into {@code version.properties}. */
public final class BuildVersion implements IVersionProvider {
  private static final String RESOURCE = "/dev/sluice/cli/version.properties";

  @Override
  public String[] getVersion() {
    return new String[] {"sluice " + number()};
  }

  public static String number() {
    return property("version");
  }

  /** Returns the version of the library that draws plots. */
  public static String ofChartJs() {
    return property("chartjs");
  }

  private static String property(String name) {
    Properties properties = new Properties();
    try (InputStream file = BuildVersion.class.getResourceAsStream(RESOURCE)) {
      properties.load(Objects.requireNonNull(file, RESOURCE));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties.getProperty(name, "unknown");
  }
}
