package dev.sluice.testkit.redis;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A port of the loopback address that forwards to another, and fails on demand. Each method returns
 * once it has taken effect. Methods may be called from any thread; one thread moves all bytes.
 *
 * @since 0.1
 */
public final class TcpProxy implements AutoCloseable {
  /*
   * State: all but the orders belongs to the loop's thread. An order is code that the loop runs
   * between two rounds, so a caller that waits for it knows that no later byte moves by the old
   * rules. Each round moves what may move on every connection: there are few.
   */
  private static final int PORT_TRIES = 5;
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final int port;
  private final InetSocketAddress target;
  private final Selector selector;
  private final Thread loop = new Thread(this::run, "tcp-proxy");

  // Guarded by orders.
  private final Queue<Order> orders = new ArrayDeque<>();
  private boolean stopped;

  // The loop's own.
  private final Set<ProxiedConnection> connections = new HashSet<>();
  private @Nullable ServerSocketChannel listener;
  private Rules rules = Rules.HEALTHY;
  private boolean closing;

  /** A request to the loop, and the caller that waits for it. */
  private record Order(Step step, CompletableFuture<Boolean> done) {}

  /** A request to the loop. */
  private interface Step {
    void run() throws IOException;
  }

  /** The delay of bytes. */
  record Rules(long toTargetNanos, long toClientNanos, boolean silent) {
    static final Rules HEALTHY = new Rules(0, 0, false);
  }

  private TcpProxy(int port, int targetPort) throws IOException {
    this.port = port;
    this.target = new InetSocketAddress(RedisConsole.loopback(), targetPort);
    this.selector = Selector.open();
    try {
      listen();
    } catch (IOException e) {
      selector.close();
      throw e;
    }
    loop.setDaemon(true);
  }

  /** A proxy in front of a server. */
  public static TcpProxy to(RedisServer server) {
    return to(server.port());
  }

  /** A proxy in front of a port of the loopback address. */
  public static TcpProxy to(int targetPort) {
    for (int i = 1; ; i++) {
      try {
        TcpProxy proxy = new TcpProxy(Ports.free(), targetPort);
        proxy.loop.start();
        return proxy;
      } catch (IOException e) {
        if (i == PORT_TRIES) {
          throw new UncheckedIOException(e);
        }
      }
    }
  }

  /** Where it listens. */
  public int port() {
    return port;
  }

  /** How a client finds a Redis server behind it: {@code redis://127.0.0.1:PORT}. */
  public String uri() {
    return "redis://127.0.0.1:" + port;
  }

  /** Holds all bytes for so long, each direction by itself. */
  public void delay(Duration toTarget, Duration toClient) {
    order(() -> rules = new Rules(toTarget.toNanos(), toClient.toNanos(), rules.silent()));
  }

  /** Resets all connections; new ones are welcome. */
  public void cut() {
    order(this::cutAll);
  }

  /** Turns new connections away, as a machine does where nothing listens. */
  public void refuse() {
    order(this::stopListening);
  }

  /**
   * Accepts connections but forwards no bytes, also on old connections; received bytes are kept.
   */
  public void blackHole() {
    order(() -> rules = new Rules(rules.toTargetNanos(), rules.toClientNanos(), true));
  }

  /** Ends delays, refusals and silence, and forwards all bytes held back. */
  public void heal() {
    order(
        () -> {
          rules = Rules.HEALTHY;
          listen();
        });
  }

  /** How many connections are open. */
  public int connections() {
    CompletableFuture<Integer> count = new CompletableFuture<>();
    order(() -> count.complete(connections.size()));
    return count.join();
  }

  /** Resets all connections and frees the port. */
  @Override
  public void close() {
    submit(() -> closing = true).join();
    boolean interrupted = false;
    while (loop.isAlive()) {
      try {
        loop.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void order(Step step) {
    if (!submit(step).join()) {
      throw new IllegalStateException("the proxy is closed: port=" + port);
    }
  }

  /** The answer is whether the loop did it. */
  private CompletableFuture<Boolean> submit(Step step) {
    Order order = new Order(step, new CompletableFuture<>());
    synchronized (orders) {
      if (stopped) {
        return CompletableFuture.completedFuture(false);
      }
      orders.add(order);
    }
    selector.wakeup();
    return order.done();
  }

  private void run() {
    try {
      long waitNanos = Long.MAX_VALUE;
      while (!closing) {
        await(waitNanos);
        runOrders();
        accept();
        waitNanos = moveAll(System.nanoTime());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      stop();
    }
  }

  private void await(long nanos) throws IOException {
    if (nanos == Long.MAX_VALUE) {
      selector.select();
    } else {
      selector.select(nanos / NANOS_PER_MILLI + 1);
    }
    selector.selectedKeys().clear();
  }

  private void runOrders() {
    synchronized (orders) {
      for (Order order = orders.poll(); order != null; order = orders.poll()) {
        try {
          order.step().run();
          order.done().complete(true);
        } catch (IOException e) {
          order.done().completeExceptionally(e);
        }
      }
    }
  }

  private void accept() throws IOException {
    while (listener != null) {
      SocketChannel client = listener.accept();
      if (client == null) {
        return;
      }
      try {
        connections.add(new ProxiedConnection(client, target, selector));
      } catch (IOException e) {
        client.close(); // it disconnected before it was accepted
      }
    }
  }

  private long moveAll(long now) throws IOException {
    long wait = Long.MAX_VALUE;
    for (ProxiedConnection connection : connections) {
      try {
        wait = Math.min(wait, connection.move(selector, now, rules));
      } catch (IOException e) {
        connection.reset(); // one side has disconnected, so the other one must notice
      }
    }
    connections.removeIf(connection -> !connection.isOpen());
    return wait;
  }

  private void cutAll() throws IOException {
    for (ProxiedConnection connection : connections) {
      connection.reset();
    }
    connections.clear();
  }

  private void listen() throws IOException {
    if (listener != null) {
      return;
    }
    ServerSocketChannel next = ServerSocketChannel.open();
    try {
      next.configureBlocking(false);
      next.bind(new InetSocketAddress(RedisConsole.loopback(), port));
      next.register(selector, SelectionKey.OP_ACCEPT);
    } catch (IOException e) {
      next.close();
      throw e;
    }
    listener = next;
  }

  private void stopListening() throws IOException {
    if (listener == null) {
      return;
    }
    accept(); // those who came before
    listener.close();
    listener = null;
    selector.selectNow(); // only now the system lets go of the port
  }

  private void stop() {
    synchronized (orders) {
      stopped = true;
      orders.forEach(order -> order.done().complete(false));
      orders.clear();
    }
    try (selector) {
      stopListening();
      cutAll();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
