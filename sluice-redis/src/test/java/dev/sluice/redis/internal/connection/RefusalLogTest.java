package dev.sluice.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RefusalLogTest {
  private final List<String> lines = new ArrayList<>();
  private long nowNanos = Long.MAX_VALUE - 5;
  private final RedisErrorLog log = RedisErrorLog.of(() -> nowNanos);

  private void refused(String error) {
    log.refused(error, (text, leftOut) -> lines.add(text + " +" + leftOut));
  }

  private void pass(Duration time) {
    nowNanos += time.toNanos();
  }

  @Test
  void sameError_isLoggedOnceAMinute() {
    for (int second = 0; second < 90; second++) {
      refused("WRONGTYPE Operation against a key, script " + second % 3);
      pass(Duration.ofSeconds(1));
    }
    assertThat(lines)
        .containsExactly(
            "WRONGTYPE Operation against a key, script 0 +0",
            "WRONGTYPE Operation against a key, script 0 +59");
  }

  @Test
  void firstError_isLogged_wheneverTheClockBegan() {
    nowNanos = 1;
    refused("WRONGTYPE a");
    assertThat(lines).containsExactly("WRONGTYPE a +0");
  }

  @Test
  void leftOutErrors_areCountedOnce() {
    for (int minute = 0; minute < 3; minute++) {
      refused("WRONGTYPE a");
      refused("WRONGTYPE a");
      pass(Duration.ofMinutes(1));
    }
    assertThat(lines).containsExactly("WRONGTYPE a +0", "WRONGTYPE a +1", "WRONGTYPE a +1");
  }

  @Test
  void anotherError_isLoggedAfterTenSeconds() {
    refused("WRONGTYPE a");
    pass(Duration.ofSeconds(9));
    refused("NOPERM b");
    pass(Duration.ofSeconds(1));
    refused("NOPERM b");
    assertThat(lines).containsExactly("WRONGTYPE a +0", "NOPERM b +1");
  }
}
