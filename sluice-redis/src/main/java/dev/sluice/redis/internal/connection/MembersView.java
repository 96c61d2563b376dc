package dev.sluice.redis.internal.connection;

import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * How Redis described the fleet in its answer to a heartbeat.
 *
 * @param validUntilMicros the time of Redis at which another member may become absent: a call that
 *     carries this view does nothing afterwards
 * @param validUntilNanos the same moment on this node's clock, at the latest
 * @param share the parts of every limit that belong to this node, of {@link MembershipConfig#PARTS}
 * @param absent the parts that belong to absent members
 * @param members the members whose share is reserved, absent ones included
 * @param live the members that were heard lately
 * @param absences the absences as the scripts read them
 * @param epoch identifies the data of Redis; it changes when Redis loses its data
 * @param rulesVersion the version of the second key, or 0
 * @param rulesLife the life of the second key, or 0
 * @param sharesOfAll the parts that belong to any member
 * @since 0.1
 */
public record MembersView(
    long validUntilMicros,
    long validUntilNanos,
    int share,
    int absent,
    int members,
    int live,
    String absences,
    long epoch,
    long rulesVersion,
    long rulesLife,
    int sharesOfAll) {
  static final int NOW_AT = 1;
  private static final int VALID_AT = 2;
  private static final int SHARE_AT = 3;
  private static final int ABSENT_AT = 4;
  private static final int MEMBERS_AT = 5;
  private static final int LIVE_AT = 6;
  private static final int ABSENCES_AT = 7;
  private static final int EPOCH_AT = 8;
  private static final int VERSION_AT = 9;
  private static final int LIFE_AT = 10;
  private static final int SHARES_AT = 11;
  private static final long LONGEST_MICROS = TimeUnit.DAYS.toMicros(1);

  /** Clocks differ by far less than this part of the time that they measure. */
  static final long DRIFT_DIVISOR = 50;

  /**
   * Returns the same view with the text of {@code last} where it is equal: it is compared often.
   */
  MembersView sharing(MembersView last) {
    return last.absences().equals(absences)
        ? new MembersView(
            validUntilMicros,
            validUntilNanos,
            share,
            absent,
            members,
            live,
            last.absences(),
            epoch,
            rulesVersion,
            rulesLife,
            sharesOfAll)
        : this;
  }

  /** Reads the answer to a heartbeat that was sent at {@code sentNanos}. */
  static MembersView of(List<Object> answer, long sentNanos) {
    long validUntil = ScriptCall.number(answer, VALID_AT);
    long validNanos =
        TimeUnit.MICROSECONDS.toNanos(
            Math.min(LONGEST_MICROS, validUntil - ScriptCall.number(answer, NOW_AT)));
    return new MembersView(
        validUntil,
        sentNanos + validNanos - validNanos / DRIFT_DIVISOR,
        (int) ScriptCall.number(answer, SHARE_AT),
        (int) ScriptCall.number(answer, ABSENT_AT),
        (int) ScriptCall.number(answer, MEMBERS_AT),
        (int) ScriptCall.number(answer, LIVE_AT),
        String.valueOf(answer.get(ABSENCES_AT)),
        ScriptCall.number(answer, EPOCH_AT),
        ScriptCall.number(answer, VERSION_AT),
        ScriptCall.number(answer, LIFE_AT),
        (int) ScriptCall.number(answer, SHARES_AT));
  }
}
