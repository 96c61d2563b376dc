package dev.sluice.redis.internal.connection;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Sends the heartbeats of a member, and checks the layout before a return. Thread-safe. */
final class Heartbeats {
  /** Guarded by its own deadline, so it carries no view. */
  static final LuaScript HEARTBEAT = LuaScript.of(Heartbeats.class, "heartbeat");

  static final LuaScript SCHEMA = LuaScript.of(Heartbeats.class, "schema");

  private static final long OK = 0;
  private static final long ABSENT = 1;
  private static final long EXPIRED = 2;

  private final MembershipConfig membership;
  private final String[] keys;
  private final String presenceMicros;
  private final String membershipMicros;
  private final ScriptSender calls;
  private final Transport transport;
  private final FleetScheduler time;
  private final RedisClock server;
  private final SilenceDetector silence;

  /**
   * The state that a node reports.
   *
   * @param share the parts of every limit that it may believe to have
   * @param claims whether it grants by itself in an outage
   * @param epoch the data of Redis that it knows; 0 for none
   * @param aloneSinceMicros since when it has granted by itself without ever being a member, in the
   *     time of Redis; 0 if it has not
   * @param sharesOfAll the parts of every limit that all members held when it was heard last
   */
  record HeartbeatState(
      int share, boolean claims, long epoch, long aloneSinceMicros, int sharesOfAll) {}

  /** The reply to a heartbeat, and the time at which the heartbeat was sent. */
  record HeartbeatReply(List<Object> answer, long sentNanos) {
    /** Returns whether Redis did what was asked. */
    boolean isOk() {
      return ScriptCall.number(answer, 0) == OK;
    }

    /** Returns whether Redis counts this member as absent. */
    boolean isAbsent() {
      return ScriptCall.number(answer, 0) == ABSENT;
    }

    /** Returns whether this node was wrong about the time of Redis by too much. */
    boolean isExpired() {
      return ScriptCall.number(answer, 0) == EXPIRED;
    }

    MembersView view() {
      return MembersView.of(answer, sentNanos);
    }
  }

  Heartbeats(
      MembershipConfig membership,
      ScriptSender calls,
      Transport transport,
      FleetScheduler time,
      RedisClock server,
      SilenceDetector silence) {
    this.membership = membership;
    this.keys = membership.keys().toArray(String[]::new);
    this.presenceMicros = micros(membership.timing().presence().toNanos());
    this.membershipMicros = micros(membership.timing().membership().toNanos());
    this.calls = calls;
    this.transport = transport;
    this.time = time;
    this.server = server;
    this.silence = silence;
  }

  private static String micros(long nanos) {
    return Long.toString(TimeUnit.NANOSECONDS.toMicros(nanos));
  }

  /**
   * Sends one heartbeat.
   *
   * @param what {@code stay}, {@code return}, {@code leave} or {@code look}
   * @param sentNanos now: Redis counts the presence of this node from then
   */
  CompletableFuture<Heartbeats.HeartbeatReply> send(
      String what, long sentNanos, long timeoutNanos, Heartbeats.HeartbeatState self) {
    String[] arguments = {
      membership.node(),
      what,
      Long.toString(server.microsAt(sentNanos)),
      presenceMicros,
      membershipMicros,
      Integer.toString(self.share()),
      self.claims() ? "1" : "0",
      Integer.toString(membership.expectedNodes()),
      Long.toString(self.epoch()),
      Long.toString(self.aloneSinceMicros()),
      Integer.toString(self.sharesOfAll())
    };
    ScriptCall call = calls.expect(sentNanos, timeoutNanos);
    transport.run(
        HEARTBEAT,
        keys,
        arguments,
        (answer, failure) -> {
          if (answer != null) {
            server.sample(
                ScriptCall.number(answer, MembersView.NOW_AT), sentNanos, time.nanoTime());
            silence.heartbeatServed();
          } else if (RedisFailure.of(failure) == RedisFailure.REFUSED) {
            silence.heartbeatRefused(time.nanoTime());
          }
          calls.end(call, answer, failure, null);
        });
    return call.thenApply(answer -> new Heartbeats.HeartbeatReply(answer, sentNanos));
  }

  /** Completes with whether an earlier layout has left data; fails if there is another layout. */
  CompletableFuture<Boolean> checkSchema(long timeoutNanos) {
    MembershipConfig.Schema schema = membership.schema();
    List<String> checked = new ArrayList<>(List.of(schema.key(), membership.keys().get(0)));
    checked.addAll(schema.earlier());
    ScriptCall call = calls.expect(time.nanoTime(), timeoutNanos);
    calls.run(
        call,
        SCHEMA,
        checked.toArray(String[]::new),
        new String[] {Integer.toString(schema.number())},
        null);
    return call.thenApply(answer -> ScriptCall.number(answer, 0) == 1);
  }

  /** Returns the sentence of a failure that says that there is another layout; else null. */
  static @Nullable String otherSchema(Throwable failure) {
    String text = RedisFailure.messageOf(failure);
    return text.startsWith("SCHEMA ") ? text : null;
  }
}
