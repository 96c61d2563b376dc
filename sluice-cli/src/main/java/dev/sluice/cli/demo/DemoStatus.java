package dev.sluice.cli.demo;

import java.util.List;
import java.util.Locale;

/**
 * The demo at one moment, for display.
 *
 * @param millis since the start
 * @param server how the server is
 * @param granted what the provider was given so far
 * @param noisy what the noisy tenant got so far
 * @param quiet what the quiet tenant got so far
 * @param classes what callers of the model got so far
 */
public record DemoStatus(
    long millis,
    String server,
    long granted,
    MessageLog.Count noisy,
    MessageLog.Count quiet,
    List<ModelCallLog.PriorityClassStats> classes) {

  /** Returns the calls of the provider a second since {@code before}. */
  double perSecond(DemoStatus before) {
    long passed = millis - before.millis;
    return passed == 0 ? 0 : (granted - before.granted) * 1e3 / passed;
  }

  static String seconds(long millis) {
    return String.format(Locale.ROOT, "%.1f s", millis / 1e3);
  }
}
