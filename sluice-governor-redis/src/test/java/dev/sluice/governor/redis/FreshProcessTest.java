package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.JavaProcess;
import dev.sluice.testkit.redis.RedisServer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The first decision of a JVM is as right as any other, although its classes are not loaded yet: a
 * fresh process with default settings, a Redis that answers and buckets that are full grants its
 * first request for a token of a limit, and its first request to the governor. That holds for N of
 * N processes, each tried once.
 *
 * <p>Not promised is that it reaches Redis within three seconds if the machine does not let it run.
 * A process that came too late counts as wrong, unless one of its threads, as the kernel counts it,
 * waited for a core for a second or longer: then it says nothing, is reported with that time, and
 * another one takes its place. At most as many processes are replaced as are tried.
 *
 * <p>{@code -Dsluice.fresh.processes=100} tries that many.
 */
@Tag("any-jdk")
@Tag("alone")
final class FreshProcessTest {
  private static final int PROCESSES = Integer.getInteger("sluice.fresh.processes", 4);

  /** A process whose thread waited for a core for so long says nothing by being late. */
  private static final long DISTURBED_MILLIS = 1_000;

  @Test
  void firstDecision_onFullBuckets_isGranted() {
    List<String> disturbed = new ArrayList<>();
    int granted = 0;
    try (RedisServer redis = RedisServer.start()) {
      for (int i = 0; granted < PROCESSES; i++) {
        String decided = decide(redis.uri(), "fresh-" + i);
        if (isDisturbed(decided)) {
          disturbed.add(decided);
          assertThat(disturbed).hasSizeLessThanOrEqualTo(PROCESSES);
        } else {
          assertThat(decided).as("limit and governor in process %d", i).isEqualTo("[true, true]");
          granted++;
        }
      }
    }
    System.out.printf(
        "fresh processes: %d of %d granted at once; %d more were kept from running: %s%n",
        granted, PROCESSES, disturbed.size(), disturbed);
  }

  private static String decide(String url, String bucket) {
    try (JavaProcess process = JavaProcess.start(FreshProcess.class, List.of(url, bucket))) {
      return process.await(FreshProcess.DECIDED);
    }
  }

  private static boolean isDisturbed(String decided) {
    return decided.startsWith(FreshProcess.LATE)
        && Long.parseLong(decided.substring(FreshProcess.LATE.length())) >= DISTURBED_MILLIS;
  }
}
