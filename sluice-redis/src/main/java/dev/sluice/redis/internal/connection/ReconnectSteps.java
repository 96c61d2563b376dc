package dev.sluice.redis.internal.connection;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The steps around the heartbeat with which a node returns. Each ends within a bounded time. */
final class ReconnectSteps {
  /** How long the member may take to adopt what a return found. */
  private static final long ADOPT_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final Transport transport;
  private final FleetScheduler time;
  private final List<LuaScript> scripts;
  private final Heartbeats heartbeats;
  private final MemberState record;
  private final FleetConnection.Member member;

  ReconnectSteps(
      Transport transport,
      FleetScheduler time,
      ConnectionConfig terms,
      Heartbeats heartbeats,
      MemberState record,
      FleetConnection.Member member) {
    this.transport = transport;
    this.time = time;
    this.scripts = new ArrayList<>(terms.scripts());
    scripts.add(Heartbeats.HEARTBEAT);
    scripts.add(Heartbeats.SCHEMA);
    this.heartbeats = heartbeats;
    this.record = record;
    this.member = member;
  }

  /** Loads the scripts; one that could not be loaded is sent with its first call. */
  CompletableFuture<Void> loadScripts(long patienceNanos) {
    return within(patienceNanos, transport.load(scripts)).exceptionally(late -> null);
  }

  /**
   * Checks the layout of what Redis stores, before this node is a member: a newer version may have
   * been the first in a Redis that lost its data.
   */
  CompletableFuture<Void> checkSchema(boolean everConnected, long patienceNanos) {
    return heartbeats
        .checkSchema(patienceNanos)
        .whenComplete(
            (earlier, failure) -> {
              String other = failure == null ? null : Heartbeats.otherSchema(failure);
              if (failure == null || other != null) {
                record.otherLayout(other);
              }
            })
        .thenAccept(
            earlier -> {
              if (!everConnected) {
                record.earlierLayout(earlier);
              }
            });
  }

  /** Returns the view under which Redis has admitted this node. */
  MembersView admittedView(Heartbeats.HeartbeatReply heard) {
    if (!heard.isOk()) {
      throw CallFailures.unanswered("the heartbeat reached Redis too late", null);
    }
    return heard.view();
  }

  /** Completes when the member has adopted the view. */
  CompletableFuture<Void> adopt(MembersView view) {
    record.see(view);
    return within(ADOPT_NANOS, member.seen(view));
  }

  /** Completes as {@code step} does, or fails after {@code nanos}. */
  private CompletableFuture<Void> within(long nanos, CompletableFuture<Void> step) {
    CompletableFuture<Void> bounded = step.copy();
    time.after(
        nanos,
        () ->
            bounded.completeExceptionally(
                CallFailures.unanswered("rejoining took too long", null)));
    return bounded;
  }
}
