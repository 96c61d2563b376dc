package dev.sluice.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.redis.RedisServer;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Shares never add up to more than the whole, in whichever order heartbeats arrive. */
@Tag("any-jdk")
final class HeartbeatScriptTest {
  private static final int WHOLE = MembershipConfig.PARTS;
  private static final long PRESENCE_MICROS = 60_000_000;
  private static final int SHARE_AT = 3;

  /** Of data that Redis has lost. */
  private static final long LOST_EPOCH = 1;

  @AutoClose private final RedisServer redis = RedisServer.start();

  /** Returns the share that Redis answers to a heartbeat of a node that holds {@code held}. */
  private long beat(String node, String what, long sentMicros, long held, long epoch) {
    List<?> answer =
        (List<?>)
            redis.command(
                "EVAL",
                Heartbeats.HEARTBEAT.body(),
                "1",
                TestMember.MEMBERS,
                node,
                what,
                Long.toString(sentMicros),
                Long.toString(PRESENCE_MICROS),
                Long.toString(PRESENCE_MICROS),
                Long.toString(held),
                "1",
                "1",
                Long.toString(epoch),
                "0",
                Integer.toString(epoch == LOST_EPOCH ? WHOLE : 0));
    return (Long) answer.get(SHARE_AT);
  }

  private long beat(String node, String what, long sentMicros, long held) {
    return beat(node, what, sentMicros, held, 0);
  }

  /** As after a new connection, if the old one had buffered a heartbeat. */
  @Test
  void heartbeatThatIsOvertakenByALaterOne_doesNotLowerTheShareThatWasAnsweredToThat() {
    long sent = redis.micros();
    assertThat(beat("one", "return", sent, 0)).isEqualTo(WHOLE);
    assertThat(beat("two", "return", sent, 0)).isZero();
    beat("one", "stay", sent - 1, 0);
    assertThat(beat("two", "stay", redis.micros(), 0)).isZero();
  }

  @Test
  void memberThatRedisForgot_keepsItsShareReserved_untilItHasConfirmedASmallerOne() {
    assertThat(beat("one", "look", redis.micros(), WHOLE / 2, LOST_EPOCH)).isZero();
    assertThat(beat("new", "return", redis.micros(), 0)).isZero();
    assertThat(beat("newer", "return", redis.micros(), 0)).isZero();
    assertThat(beat("one", "return", redis.micros(), WHOLE / 2, LOST_EPOCH)).isEqualTo(WHOLE / 3);
    // The answer may be lost: then the member grants half of every limit in an outage.
    assertThat(beat("new", "stay", redis.micros(), 0)).isZero();
  }
}
