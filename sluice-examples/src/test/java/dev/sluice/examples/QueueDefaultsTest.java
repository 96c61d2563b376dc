package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.QueueConfig;
import java.time.Duration;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** Pages and the protocol name the defaults of {@link QueueConfig}. */
final class QueueDefaultsTest {
  private static final QueueConfig DEFAULTS = QueueConfig.defaults();

  private static String millis(Duration time) {
    return String.format(Locale.ROOT, "%,d by default", time.toMillis());
  }

  private static long seconds(Duration time) {
    assertThat(Duration.ofSeconds(time.toSeconds())).isEqualTo(time);
    return time.toSeconds();
  }

  private static long minutes(Duration time) {
    assertThat(Duration.ofMinutes(time.toMinutes())).isEqualTo(time);
    return time.toMinutes();
  }

  @Test
  void protocol() {
    assertThat(Pages.read("sluice-proto/src/main/protobuf/sluice/v1/queues.proto"))
        .contains("no limit. %d by default; 0 by default with".formatted(DEFAULTS.maxAttempts()))
        .contains(millis(DEFAULTS.leaseTimeout()))
        .contains(millis(DEFAULTS.retryDelay()))
        .contains(millis(DEFAULTS.maxRetryDelay()));
  }

  @Test
  void broker() {
    assertThat(Pages.read("docs/broker.md"))
        .contains("| `maxAttempts` | %d |".formatted(DEFAULTS.maxAttempts()))
        .contains("| `retryDelay` | %d s |".formatted(seconds(DEFAULTS.retryDelay())))
        .contains("| `maxRetryDelay` | %d min |".formatted(minutes(DEFAULTS.maxRetryDelay())));
  }

  @Test
  void commandLine() {
    assertThat(Pages.read("docs/cli.md"))
        .contains(
            "`--lease-timeout DURATION` | `%ds` |".formatted(seconds(DEFAULTS.leaseTimeout())))
        .contains("`--max-attempts N` | %d, with".formatted(DEFAULTS.maxAttempts()))
        .contains("`--retry-delay DURATION` | `%ds` |".formatted(seconds(DEFAULTS.retryDelay())))
        .contains(
            "`--max-retry-delay DURATION` | `%dm` |".formatted(minutes(DEFAULTS.maxRetryDelay())));
  }

  @Test
  void server() {
    assertThat(Pages.read("docs/server.md"))
        .contains(
            "%d attempts by default, %d s to %d min apart"
                .formatted(
                    DEFAULTS.maxAttempts(),
                    seconds(DEFAULTS.retryDelay()),
                    minutes(DEFAULTS.maxRetryDelay())));
  }
}
