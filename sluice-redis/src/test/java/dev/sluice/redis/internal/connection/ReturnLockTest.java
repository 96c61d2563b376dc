package dev.sluice.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/**
 * A return waits for decisions of this node: the one thing that a simulation on one thread omits.
 */
class ReturnLockTest {
  private static final List<Object> LOOKED =
      List.of(0L, 1_000_000L, 1L << 53, 0L, 0L, 0L, 0L, "", 0L, 0L, 0L, 0L);

  private final CountDownLatch decides = new CountDownLatch(1);
  private final CountDownLatch decided = new CountDownLatch(1);
  private final OneThread time = new OneThread();
  private final Answering transport = new Answering();

  @Test
  void return_waitsForDecisionsUnderWay() throws InterruptedException {
    try (FleetConnection connection = connection()) {
      CompletableFuture<Optional<Boolean>> decision =
          CompletableFuture.supplyAsync(() -> connection.whileOut(this::decide));
      decides.await();
      connection.begin();
      await().until(() -> transport.returns || time.isBlocked());
      assertThat(transport.returns).as("it returns while a decision is made").isFalse();
      decided.countDown();
      assertThat(decision.join()).contains(true);
      await().until(() -> transport.returns);
      assertThat(connection.whileOut(() -> true)).isEmpty();
    }
  }

  private boolean decide() {
    decides.countDown();
    try {
      return decided.await(10, TimeUnit.SECONDS);
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    }
  }

  private FleetConnection connection() {
    return new FleetConnection(
        new ConnectionConfig(Duration.ofSeconds(1), null, List.of(), "test"),
        new MembershipConfig(
            "node",
            List.of("members"),
            1,
            new MembershipConfig.Schema("schema", 1, List.of()),
            MembershipConfig.Timing.DEFAULTS),
        new NoMember(),
        false,
        owner -> transport,
        late -> time);
  }

  /** A member that does nothing. */
  private static final class NoMember implements FleetConnection.Member {
    @Override
    public CompletableFuture<Void> seen(MembersView view) {
      return CompletableFuture.allOf();
    }

    @Override
    public void lost(String cause) {}

    @Override
    public CompletableFuture<Void> report() {
      return CompletableFuture.allOf();
    }

    @Override
    public void connected(Optional<Duration> outage) {}

    @Override
    public void refused(String error) {}
  }

  /** Answers probes; what a return begins with is never answered. */
  private static final class Answering implements Transport {
    volatile boolean returns;

    @Override
    public boolean isConnected() {
      return true;
    }

    @Override
    public CompletableFuture<Void> connect(long millis) {
      return CompletableFuture.allOf();
    }

    @Override
    public void disconnect() {}

    @Override
    public void run(LuaScript script, String[] keys, String[] arguments, Reply reply) {
      reply.end(LOOKED, null);
    }

    @Override
    public CompletableFuture<Void> load(List<LuaScript> scripts) {
      returns = true;
      return new CompletableFuture<>();
    }

    @Override
    public void subscribe(String channel, Consumer<String> message) {}

    @Override
    public void tendSubscriptions() {}

    @Override
    public void close() {}
  }

  /** Runs work on a thread that tells whether it waits in the middle of some. */
  private static final class OneThread implements FleetScheduler {
    private final BlockingQueue<Runnable> queue = new LinkedBlockingQueue<>();
    private volatile boolean busy;
    private final Thread thread = new Thread(this::work, "test-heartbeat");

    OneThread() {
      thread.setDaemon(true);
      thread.start();
    }

    private void work() {
      try {
        while (true) {
          Runnable next = queue.take();
          busy = true;
          next.run();
          busy = false;
        }
      } catch (InterruptedException closed) {
        busy = false;
      }
    }

    boolean isBlocked() {
      return busy && thread.getState() == Thread.State.WAITING;
    }

    @Override
    public long nanoTime() {
      return System.nanoTime();
    }

    @Override
    public void execute(Runnable work) {
      queue.add(work);
    }

    @Override
    public void after(long nanos, Runnable work) {}

    @Override
    public void watch(ScriptCall call) {}

    @Override
    public void close() {
      thread.interrupt();
    }
  }
}
