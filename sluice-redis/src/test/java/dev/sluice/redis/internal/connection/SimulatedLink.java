package dev.sluice.redis.internal.connection;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Opens connections whose time and transport a simulation provides. */
public final class SimulatedLink {
  private SimulatedLink() {}

  /** The clock and the timer of one node. */
  public interface Clock {
    /** Returns the time of the node. */
    long nanoTime();

    /** Runs {@code work} so much later by the clock of the node. */
    void after(long nanos, Runnable work);
  }

  /** The connection of one node to Redis. */
  public interface Wire {
    /** Returns whether there is a connection, which may lead nowhere. */
    boolean isConnected();

    /** Connects. */
    CompletableFuture<Void> connect(long millis);

    /** Gives up the connection. */
    void disconnect();

    /** Runs a script; {@code reply} gets the answer or the failure. */
    void run(
        LuaScript script,
        String[] keys,
        String[] arguments,
        BiConsumer<@Nullable List<Object>, @Nullable Throwable> reply);

    /** Passes messages of a channel on. */
    default void subscribe(String channel, Consumer<String> message) {}

    /** Opens subscriptions that are lost. */
    default void tendSubscriptions() {}

    /** Has {@code told} run whenever the connection breaks. */
    void onBreak(Runnable told);

    /** Completes after one round trip, or after a long time without an answer. */
    CompletableFuture<Void> load();
  }

  /** Creates a connection that {@link #begin} opens. */
  public static FleetConnection create(
      ConnectionConfig terms,
      MembershipConfig membership,
      FleetConnection.Member member,
      Clock clock,
      Wire wire) {
    return new FleetConnection(
        terms,
        membership,
        member,
        false,
        owner -> {
          wire.onBreak(owner::disconnected);
          return new WireTransport(wire);
        },
        late -> new ClockTime(clock, late));
  }

  /** Opens the connection without waiting. */
  public static void begin(FleetConnection connection) {
    connection.begin();
  }

  private record WireTransport(Wire wire) implements Transport {
    @Override
    public boolean isConnected() {
      return wire.isConnected();
    }

    @Override
    public CompletableFuture<Void> connect(long millis) {
      return wire.connect(millis);
    }

    @Override
    public void disconnect() {
      wire.disconnect();
    }

    @Override
    public void run(LuaScript script, String[] keys, String[] arguments, Reply reply) {
      wire.run(script, keys, arguments, reply::end);
    }

    @Override
    public CompletableFuture<Void> load(List<LuaScript> scripts) {
      return wire.load();
    }

    @Override
    public void subscribe(String channel, Consumer<String> message) {
      wire.subscribe(channel, message);
    }

    @Override
    public void tendSubscriptions() {
      wire.tendSubscriptions();
    }

    @Override
    public void close() {
      wire.disconnect();
    }
  }

  /** Runs the work of a closed connection no more. */
  private static final class ClockTime implements FleetScheduler {
    private final Clock clock;
    private final Consumer<ScriptCall> late;
    private boolean closed;

    ClockTime(Clock clock, Consumer<ScriptCall> late) {
      this.clock = clock;
      this.late = late;
    }

    @Override
    public long nanoTime() {
      return clock.nanoTime();
    }

    @Override
    public void execute(Runnable work) {
      after(0, work);
    }

    @Override
    public void after(long nanos, Runnable work) {
      clock.after(
          nanos,
          () -> {
            if (!closed) {
              work.run();
            }
          });
    }

    @Override
    public void watch(ScriptCall call) {
      clock.after(
          call.deadlineNanos - clock.nanoTime(),
          () -> {
            if (!call.isDone()) {
              late.accept(call);
            }
          });
    }

    @Override
    public void close() {
      closed = true;
    }
  }
}
