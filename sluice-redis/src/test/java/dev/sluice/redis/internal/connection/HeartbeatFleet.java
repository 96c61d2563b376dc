package dev.sluice.redis.internal.connection;

import dev.sluice.testkit.redis.RedisServer;
import java.util.List;

/** Sends heartbeats of any members to a real server, whose time is chosen. */
final class HeartbeatFleet {
  static final int WHOLE = MembershipConfig.PARTS;
  static final long PRESENCE_MICROS = 1_500_000;
  static final long MEMBERSHIP_MICROS = 10_000_000;

  /** Of data that Redis has lost. */
  static final long LOST_EPOCH = 1;

  private static final long MILLION = 1_000_000;
  private static final long START_MICROS = 1_700_000_000 * MILLION;
  private static final int SHARE_AT = 3;
  private static final int ABSENT_AT = 4;
  private static final int EPOCH_AT = 8;
  private static final int SHARES_AT = 11;

  private static final String IN_CHOSEN_TIME =
      """
      local server, micros = redis, tonumber(table.remove(ARGV))
      local redis = {}
      redis.call = function(command, ...)
        if command == 'TIME' then
          return {math.floor(micros / 1000000), math.fmod(micros, 1000000)}
        end
        return server.call(command, ...)
      end
      """;

  private final RedisServer redis;
  private int expectedNodes = 1;
  private long nowMicros = START_MICROS;
  private List<?> answer = List.of();

  HeartbeatFleet(RedisServer redis) {
    this.redis = redis;
    loseData();
  }

  /** Divides limits among so many nodes at least. */
  void expect(int nodes) {
    expectedNodes = nodes;
  }

  long nowMicros() {
    return nowMicros;
  }

  void advance(long micros) {
    nowMicros += micros;
  }

  void loseData() {
    redis.command("DEL", TestMember.MEMBERS);
  }

  /** As if there had been members before. */
  void foundLongAgo() {
    redis.command("HSET", TestMember.MEMBERS, "@epoch", Long.toString(LOST_EPOCH + 1));
  }

  /** Returns the share that Redis answers to a heartbeat of a node that holds {@code held}. */
  long beat(String node, String what, int held) {
    return beatSentAt(nowMicros, node, what, held);
  }

  long beatSentAt(long sentMicros, String node, String what, int held) {
    return beat(sentMicros, node, what, held, 0, 0);
  }

  /**
   * {@link #beat(String, String, int)} of a node that knows what the data was.
   *
   * @param sharesOfAll the parts that it knows all members to have held
   */
  long beat(String node, String what, int held, long epoch, int sharesOfAll) {
    return beat(nowMicros, node, what, held, epoch, sharesOfAll);
  }

  private long beat(
      long sentMicros, String node, String what, int held, long epoch, int sharesOfAll) {
    answer =
        (List<?>)
            redis.command(
                "EVAL",
                IN_CHOSEN_TIME + Heartbeats.HEARTBEAT.body(),
                "1",
                TestMember.MEMBERS,
                node,
                what,
                Long.toString(sentMicros),
                Long.toString(PRESENCE_MICROS),
                Long.toString(MEMBERSHIP_MICROS),
                Integer.toString(held),
                "1",
                Integer.toString(expectedNodes),
                Long.toString(epoch),
                "0",
                Integer.toString(sharesOfAll),
                Long.toString(nowMicros));
    return number(SHARE_AT);
  }

  private long number(int index) {
    return (Long) answer.get(index);
  }

  // ---- what the last answer said

  boolean isOk() {
    return number(0) == 0;
  }

  long absentParts() {
    return number(ABSENT_AT);
  }

  long epoch() {
    return number(EPOCH_AT);
  }

  int sharesOfAll() {
    return (int) number(SHARES_AT);
  }
}
