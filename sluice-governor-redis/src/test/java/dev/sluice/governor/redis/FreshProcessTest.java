package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.JavaProcess;
import dev.sluice.testkit.redis.RedisServer;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The first decision of a JVM is as right as any other, although its classes are not loaded yet.
 *
 * <p>{@code -Dsluice.fresh.processes=100} starts that many.
 */
@Tag("any-jdk")
@Tag("alone")
final class FreshProcessTest {
  private static final int TRIES = 3;
  private static final int PROCESSES = Integer.getInteger("sluice.fresh.processes", 4);

  @Test
  void firstDecision_onFullBuckets_isGranted() {
    try (RedisServer redis = RedisServer.start()) {
      for (int i = 0; i < PROCESSES; i++) {
        assertThat(decide(redis.uri(), "fresh-" + i))
            .as("limit and governor in process %d", i)
            .isEqualTo("[true, true]");
      }
      System.out.printf("fresh processes: %d of %d granted at once%n", PROCESSES, PROCESSES);
    }
  }

  /** Starts a process; another one if a busy machine kept it from reaching Redis. */
  private static String decide(String url, String bucket) {
    String decided = FreshProcess.LATE;
    for (int i = 0; i < TRIES && decided.equals(FreshProcess.LATE); i++) {
      List<String> arguments = List.of(url, bucket + "-" + i);
      try (JavaProcess process = JavaProcess.start(FreshProcess.class, arguments)) {
        decided = process.await(FreshProcess.DECIDED);
      }
    }
    return decided;
  }
}
