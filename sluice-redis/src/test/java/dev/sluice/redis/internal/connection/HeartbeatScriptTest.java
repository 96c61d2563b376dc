package dev.sluice.redis.internal.connection;

import static dev.sluice.redis.internal.connection.HeartbeatFleet.LOST_EPOCH;
import static dev.sluice.redis.internal.connection.HeartbeatFleet.MEMBERSHIP_MICROS;
import static dev.sluice.redis.internal.connection.HeartbeatFleet.PRESENCE_MICROS;
import static dev.sluice.redis.internal.connection.HeartbeatFleet.WHOLE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.redis.RedisServer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Shares never add up to more than the whole, in whichever order heartbeats arrive. */
@Tag("any-jdk")
final class HeartbeatScriptTest {
  private static final int RUNS = 40;

  @AutoClose private final RedisServer redis = RedisServer.start();
  private final HeartbeatFleet fleet = new HeartbeatFleet(redis);

  /** As after a new connection, if the old one had buffered a heartbeat. */
  @Test
  void outdatedHeartbeat_doesNotLowerTheShareOfALaterOne() {
    fleet.foundLongAgo();
    long sent = fleet.nowMicros();
    assertThat(fleet.beat("one", "return", 0)).isEqualTo(WHOLE);
    assertThat(fleet.beat("two", "return", 0)).isZero();
    fleet.beatSentAt(sent - 1, "one", "stay", 0);
    assertThat(fleet.beat("two", "stay", 0)).isZero();
  }

  @Test
  void memberThatRedisForgot_keepsItsShareReserved_untilItHasConfirmedASmallerOne() {
    assertThat(fleet.beat("one", "look", WHOLE / 2, LOST_EPOCH, WHOLE)).isZero();
    assertThat(fleet.beat("new", "return", 0)).isZero();
    assertThat(fleet.beat("newer", "return", 0)).isZero();
    assertThat(fleet.beat("one", "return", WHOLE / 2, LOST_EPOCH, WHOLE)).isEqualTo(WHOLE / 3);
    // The answer may be lost: then the member grants half of every limit in an outage.
    assertThat(fleet.beat("new", "stay", 0)).isZero();
  }

  /** A node that starts after the loss may come before every node that knows of the others. */
  @Test
  void newMember_thatComesFirstAfterTheLoss_hasNoShare_untilTheOthersHadTimeToCome() {
    assertThat(fleet.beat("new", "return", 0)).isZero();
    fleet.advance(PRESENCE_MICROS / 2);
    fleet.beat("one", "look", WHOLE / 2, LOST_EPOCH, WHOLE);
    assertThat(fleet.beat("new", "stay", 0)).isZero();
    assertThat(fleet.beat("one", "return", WHOLE / 2, LOST_EPOCH, WHOLE)).isEqualTo(WHOLE / 2);
    fleet.advance(PRESENCE_MICROS / 2);
    // The other half is of a member that has not come yet.
    assertThat(fleet.beat("new", "stay", 0)).isZero();
    assertThat(fleet.beat("one", "stay", WHOLE / 2)).isEqualTo(WHOLE / 2);
  }

  @Test
  void firstMembersOfAFleet_getTheirShares_whenThePresenceHasPassed() {
    assertThat(fleet.beat("one", "return", 0)).isZero();
    fleet.advance(PRESENCE_MICROS - 1);
    assertThat(fleet.beat("one", "stay", 0)).isZero();
    fleet.advance(1);
    assertThat(fleet.beat("one", "stay", 0)).isEqualTo(WHOLE);
  }

  /** The first one was cut off before the third joined, and knows of less. */
  @Test
  void forgottenMember_thatKnowsOfMore_hasMoreReserved() {
    int part = WHOLE / 4;
    fleet.beat("one", "look", part, LOST_EPOCH, 2 * part);
    assertThat(fleet.absentParts()).isEqualTo(2L * part);
    fleet.beat("one", "return", part, LOST_EPOCH, 2 * part);
    assertThat(fleet.absentParts()).isEqualTo(part);
    fleet.advance(PRESENCE_MICROS / 2);
    fleet.beat("two", "look", part, LOST_EPOCH, 3 * part);
    assertThat(fleet.absentParts()).isEqualTo(2L * part);
    // Known shares are not reserved once more.
    fleet.beat("two", "look", part, LOST_EPOCH, 3 * part);
    assertThat(fleet.absentParts()).isEqualTo(2L * part);
    fleet.beat("two", "return", part, LOST_EPOCH, 3 * part);
    assertThat(fleet.absentParts()).isEqualTo(part);
  }

  @Test
  void sharesOfForgottenMembers_areFree_whenTheirMembershipsWouldHaveEnded() {
    fleet.beat("one", "return", WHOLE / 2, LOST_EPOCH, WHOLE);
    for (long at = 0; at < MEMBERSHIP_MICROS; at += PRESENCE_MICROS / 2) {
      fleet.advance(PRESENCE_MICROS / 2);
      assertThat(fleet.beat("one", "stay", WHOLE / 2)).isEqualTo(WHOLE / 2);
    }
    fleet.advance(PRESENCE_MICROS - 1);
    assertThat(fleet.beat("one", "stay", WHOLE / 2)).isEqualTo(WHOLE);
  }

  /** Its return fails, so it goes on granting its share, which nobody else may get. */
  @Test
  void absentMember_thatGoesOnAsking_keepsItsShareReserved() {
    fleet.foundLongAgo();
    fleet.beat("one", "return", 0);
    fleet.beat("two", "return", 0);
    assertThat(fleet.beat("one", "stay", WHOLE)).isEqualTo(WHOLE / 2);
    fleet.beat("one", "stay", WHOLE / 2);
    assertThat(fleet.beat("two", "stay", 0)).isEqualTo(WHOLE / 2);
    for (long at = 0; at < 2 * MEMBERSHIP_MICROS; at += PRESENCE_MICROS / 2) {
      fleet.advance(PRESENCE_MICROS / 2);
      fleet.beat("one", "look", WHOLE / 2);
      assertThat(fleet.beat("two", "stay", WHOLE / 2)).isEqualTo(WHOLE / 2);
    }
    assertThat(fleet.absentParts()).isEqualTo(WHOLE / 2);
  }

  /** Its returns fail, so it goes on granting the share that Redis has forgotten. */
  @Test
  void forgottenMember_thatGoesOnAsking_keepsItsShareReserved() {
    fleet.beat("one", "look", WHOLE / 2, LOST_EPOCH, WHOLE);
    assertThat(fleet.beat("two", "return", WHOLE / 2, LOST_EPOCH, WHOLE)).isEqualTo(WHOLE / 2);
    for (long at = 0; at < 2 * MEMBERSHIP_MICROS; at += PRESENCE_MICROS / 2) {
      fleet.advance(PRESENCE_MICROS / 2);
      fleet.beat("one", "look", WHOLE / 2, LOST_EPOCH, WHOLE);
      assertThat(fleet.beat("two", "stay", WHOLE / 2)).isEqualTo(WHOLE / 2);
    }
    assertThat(fleet.absentParts()).isEqualTo(WHOLE / 2);
  }

  @Test
  void shares_afterLostData_neverAddUpToMoreThanTheWhole_inAnyOrder() {
    Long only = Long.getLong("sluice.seed");
    (only == null ? LongStream.range(0, RUNS) : LongStream.of(only))
        .forEach(seed -> new LostDataRun(redis, seed).run());
  }
}
