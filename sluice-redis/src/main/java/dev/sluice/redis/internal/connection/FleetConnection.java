package dev.sluice.redis.internal.connection;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * This node's connection to the fleet: asks Redis, and decides in an outage. The state machine is
 * in {@link ConnectionState}.
 *
 * <p>Thread-safe. Futures may complete on a thread of the connection, which must not block.
 *
 * @since 0.1
 */
public final class FleetConnection implements AutoCloseable, Executor {
  /** Heartbeats of a member. */
  public static final LuaScript HEARTBEAT = Heartbeats.HEARTBEAT;

  private final ConnectionLifecycle lifecycle;

  /**
   * The callbacks of a node during an outage and around it. Called on the thread of the fleet,
   * without locks; must not block.
   *
   * @since 0.1
   */
  public interface Member {
    /** Redis has answered a heartbeat: the fleet stands like this. */
    CompletableFuture<Void> seen(MembersView view);

    /** Redis is lost: from now on the outage mode decides, in {@link #whileOut}. */
    void lost(String cause);

    /**
     * From now on {@link #whileOut} decides: the presence of this node in Redis has ended. May be
     * called several times in one outage.
     */
    default void alone() {}

    /**
     * Tells Redis what it has to know before it decides again, by {@link #tell}. Nothing is decided
     * here by now.
     */
    CompletableFuture<Void> report();

    /**
     * Redis decides.
     *
     * @param outage how long it was lost; empty at the start and after a mere pause of this process
     */
    void connected(Optional<Duration> outage);

    /** Redis answers, but refuses what it is asked. */
    void refused(String error);
  }

  /**
   * Creates a connection that is not open yet.
   *
   * @param address where Redis is
   * @param terms time-out and scripts
   * @param membership the part of this node in the fleet
   * @param member what the node does in an outage
   */
  public FleetConnection(
      RedisAddress address, ConnectionConfig terms, MembershipConfig membership, Member member) {
    this(
        terms,
        membership,
        member,
        address.cluster(),
        owner -> new LettuceTransport(address, terms, owner),
        late -> FleetScheduler.system(terms.threads(), late));
  }

  public FleetConnection(
      ConnectionConfig terms,
      MembershipConfig membership,
      Member member,
      boolean cluster,
      Function<Transport.Owner, Transport> transport,
      Function<Consumer<ScriptCall>, FleetScheduler> time) {
    this.lifecycle = new ConnectionLifecycle(terms, membership, member, cluster, transport, time);
  }

  /**
   * Opens the connection; returns when Redis decides, or did not answer for about three seconds.
   *
   * @throws IllegalStateException if Redis has data of another layout
   */
  public void start() {
    lifecycle.start();
  }

  /** Opens the connection without waiting for it. */
  public void begin() {
    lifecycle.begin();
  }

  // ---- how things stand

  /** Returns the state of the connection. */
  public ConnectionState state() {
    return lifecycle.state();
  }

  /** Returns how Redis last described the fleet; null before its first answer. */
  public @Nullable MembersView view() {
    return lifecycle.record.view();
  }

  /** Returns how many calls were not answered in time. */
  public long timeouts() {
    return lifecycle.calls.timeouts();
  }

  /** Returns the clock of this node, by which outages are measured. */
  public long nanoTime() {
    return lifecycle.time.nanoTime();
  }

  /** Returns the time of Redis in nanoseconds, or a little less. */
  public long serverNanos() {
    return lifecycle.server.nanosAt(nanoTime());
  }

  /**
   * Returns this node's part of every limit, of {@link MembershipConfig#PARTS}: what Redis has
   * reserved for it, or, before Redis was ever reached, what it expects.
   */
  public int share() {
    return lifecycle.record.share();
  }

  /**
   * Returns what names the time in which every member has been present, if it goes on; else null. A
   * block of tokens may be used in the time in which it was lent, and never later: what an absent
   * member may have saved up and the blocks together could be more than a limit.
   */
  public @Nullable String allPresent() {
    MembersView last = view();
    return state().asksRedis()
            && last != null
            && last.absent() == 0
            && last.validUntilNanos() - nanoTime() > 0
        ? last.absences()
        : null;
  }

  /** Has Redis reserve a share for this node, because it grants by itself in an outage. */
  public void claimShare() {
    lifecycle.record.claimShare();
  }

  /** Runs {@code work} on the thread of the fleet, which must not block; not once closed. */
  @Override
  public void execute(Runnable work) {
    lifecycle.time.execute(work);
  }

  /**
   * Decides by this node alone; empty if Redis decides, or if it may still count on this node. No
   * such decision is made once the return has begun, or while Redis has data of another layout.
   */
  public <T> Optional<T> whileOut(Supplier<T> decision) {
    return lifecycle.local.decide(decision);
  }

  // ---- calls

  /** Returns whether this node met data of another layout after its start. */
  public boolean hasOtherLayout() {
    return lifecycle.record.otherLayout() != null;
  }

  /**
   * Fails if Redis has data of another layout, which this node met after its start: then neither
   * Redis nor the outage mode decides here.
   *
   * @throws IllegalStateException if so
   */
  public void requireLayout() {
    String other = lifecycle.record.otherLayout();
    if (other != null) {
      throw new IllegalStateException(other);
    }
  }

  /**
   * Asks Redis; fails as the {@link ConnectionConfig} say if it does not answer in time, and as
   * {@link #requireLayout}.
   */
  public CompletableFuture<List<Object>> call(LuaScript script, String[] keys, String[] arguments) {
    String other = lifecycle.record.otherLayout();
    if (other != null) {
      return CompletableFuture.failedFuture(new IllegalStateException(other));
    }
    return lifecycle.calls.call(script, keys, arguments);
  }

  /**
   * {@link #call} with arguments that are asked for each time that it is sent, which may be after a
   * return; they throw {@link dev.sluice.redis.RedisUnavailableException} if it must not be sent.
   */
  public CompletableFuture<List<Object>> call(
      LuaScript script, String[] keys, Supplier<String[]> arguments) {
    String other = lifecycle.record.otherLayout();
    return other != null
        ? CompletableFuture.failedFuture(new IllegalStateException(other))
        : lifecycle.calls.call(script, keys, arguments);
  }

  /** A call that is answered by another one; to be given to {@link #watch}. */
  public ScriptCall expect() {
    return lifecycle.calls.expect();
  }

  /** Fails {@code call} if it is not answered in time. */
  public void watch(ScriptCall call) {
    lifecycle.time.watch(call);
  }

  /**
   * Asks Redis with more time than callers have, also from within {@link Member#report}: for what
   * Redis has to know and nobody waits for.
   */
  public CompletableFuture<List<Object>> tell(
      LuaScript script, String[] keys, Supplier<String[]> arguments) {
    return lifecycle.calls.tell(script, keys, arguments);
  }

  /**
   * Asks Redis once more for what an earlier call asked for, which runs by {@code deadlineNanos} or
   * never.
   *
   * @param told whether the earlier one was by {@link #tell}
   */
  public CompletableFuture<List<Object>> callBy(
      long deadlineNanos,
      boolean told,
      LuaScript script,
      String[] keys,
      Supplier<String[]> arguments) {
    return lifecycle.calls.callBy(deadlineNanos, told, script, keys, arguments);
  }

  /** Asks Redis for something that grants nothing, whatever the state. */
  public CompletableFuture<List<Object>> probe(
      LuaScript script, String[] keys, String[] arguments) {
    return lifecycle.calls.probe(script, keys, arguments);
  }

  /** {@link #probe} for what takes long: much is read or written. */
  public CompletableFuture<List<Object>> slow(LuaScript script, String[] keys, String[] arguments) {
    return lifecycle.calls.slow(script, keys, arguments);
  }

  /**
   * Passes messages of a channel to {@code message}, on a thread of the connection that must not
   * block. Messages are lost until Redis has confirmed it, and while Redis is away.
   */
  public void subscribe(String channel, Consumer<String> message) {
    lifecycle.transport.subscribe(channel, message);
  }

  // ---- the end

  /** Returns whether it was closed. */
  public boolean isClosed() {
    return lifecycle.isClosed();
  }

  /** Closes the connection without a word, as a process that is killed does; for tests. */
  public void abandon() {
    lifecycle.abandon();
  }

  /** Tells Redis that this node leaves, and closes the connection. Does nothing the second time. */
  @Override
  public void close() {
    lifecycle.close();
  }
}
