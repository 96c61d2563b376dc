package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.GrpcClient;
import dev.sluice.attacks.wire.Http2;
import dev.sluice.attacks.wire.HttpClient;
import dev.sluice.attacks.wire.Loopback;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One run of an attack against a target. Opens its connections, holds it to its bounds, counts what
 * it did and closes everything at the end. Thread-safe.
 */
public final class Attempt {
  /** An attacker that was cut off comes back, but does not spin. */
  private static final long RECONNECT_MS = 20;

  private static final int SLICES = 100;
  private static final int NARROW_BYTES = 2_048;
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  /**
   * The counts of an attempt.
   *
   * @param connections opened
   * @param cutOff connections that the server closed or broke
   * @param bytes sent
   * @param refused calls that were answered with an error
   */
  public record Outcome(int connections, int cutOff, long bytes, int refused) {}

  /** One step of an attack, which each of its threads repeats. */
  @FunctionalInterface
  interface Step {
    void run() throws IOException, InterruptedException;
  }

  private final Attack attack;
  private final Target target;
  private final Queue<Socket> open = new ConcurrentLinkedQueue<>();
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicInteger cutOff = new AtomicInteger();
  private final AtomicInteger refused = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();
  private volatile long startNanos;
  private volatile long endNanos;
  private final CountDownLatch prepared = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);

  private Attempt(Attack attack, Target target) {
    this.attack = attack;
    this.target = target;
  }

  /** Builds what the attack sends. */
  public static Attempt prepare(Attack attack, Target target) {
    attack.prepare();
    return new Attempt(attack, target);
  }

  /** Attacks for so long at the most; blocks until that is over and its connections are closed. */
  public Outcome run(Duration time) throws InterruptedException {
    startNanos = System.nanoTime();
    endNanos = startNanos + time.toNanos();
    Thread watch = new Thread(this::endInTime, "end of " + attack.name());
    watch.setDaemon(true);
    watch.start();
    try {
      attack.prepare(this);
      prepared.countDown();
      attack.run(this);
    } catch (IOException broken) {
      countCutOff();
    } finally {
      prepared.countDown();
      end();
    }
    return new Outcome(connections.get(), cutOff.get(), bytes.get(), refused.get());
  }

  /** Waits until the attack has what it needs on the server, or has failed. */
  public void awaitPrepared() throws InterruptedException {
    prepared.await();
  }

  /** Unblocks threads that read or write. */
  private void endInTime() {
    try {
      if (!ended.await(endNanos - System.nanoTime(), TimeUnit.NANOSECONDS)) {
        end();
      }
    } catch (InterruptedException impossible) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends it: closes its connections and unblocks its threads. */
  public void end() {
    ended.countDown();
    for (Socket each = open.poll(); each != null; each = open.poll()) {
      close(each);
    }
  }

  private static void close(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  boolean isRunning() {
    return ended.getCount() > 0;
  }

  /** Waits, but not longer than the attempt lasts. */
  void pause(long millis) throws InterruptedException {
    sleep(TimeUnit.MILLISECONDS.toNanos(millis));
  }

  /** Returns whether the attempt is over. */
  private boolean sleep(long nanos) throws InterruptedException {
    return ended.await(nanos, TimeUnit.NANOSECONDS);
  }

  /** Keeps its connections open until the attempt is over. */
  void holdOn() throws InterruptedException {
    ended.await();
  }

  /** A key of the tenant; those of all numbers are the same few. */
  String tenantKey(int number) {
    return target.tenantKeys().get(number % target.tenantKeys().size());
  }

  /** The best key that the attack may use. */
  String key() {
    return switch (attack.access()) {
      case NO_KEY -> "";
      case POWERLESS_KEY -> target.powerlessKey();
      case TENANT_KEY -> tenantKey(0);
    };
  }

  /** A new connection of HTTP/2 that has been greeted. */
  Http2 grpc() throws IOException {
    return rawGrpc().greet();
  }

  /** As {@link #grpc}, with a small receive buffer. */
  Http2 narrowGrpc() throws IOException {
    Socket socket = connect(target.grpc(), NARROW_BYTES);
    return new Http2(socket, new Counted(socket.getOutputStream())).greet();
  }

  /** A new connection of HTTP/2 on which nothing was sent. */
  Http2 rawGrpc() throws IOException {
    Socket socket = connect(target.grpc());
    return new Http2(socket, new Counted(socket.getOutputStream()));
  }

  /** A new connection of gRPC that keeps to the rules of HTTP/2. */
  GrpcClient grpcClient(String key) throws IOException {
    return new GrpcClient(grpc(), key);
  }

  /** A new connection of HTTP that keeps to its rules. */
  HttpClient httpClient(String key) throws IOException {
    Socket socket = connect(target.http());
    return new HttpClient(socket, new Counted(socket.getOutputStream()), key);
  }

  /** A new connection to the port of HTTP on which nothing was sent. */
  Connection http() throws IOException {
    return new Connection(connect(target.http()));
  }

  /** Opens a connection to the port of HTTP with a small receive buffer. */
  Connection narrowHttp() throws IOException {
    return new Connection(connect(target.http(), NARROW_BYTES));
  }

  /** A new connection to the port of gRPC, for anything. */
  Connection bareGrpc() throws IOException {
    return new Connection(connect(target.grpc()));
  }

  /** A bare connection, to either port. */
  final class Connection implements AutoCloseable {
    private final Socket socket;
    private final OutputStream out;

    private Connection(Socket socket) throws IOException {
      this.socket = socket;
      out = new Counted(socket.getOutputStream());
    }

    void send(byte[] content) throws IOException {
      out.write(content);
    }

    /** Discards the received bytes; does not wait for more. */
    void drain() throws IOException {
      socket.getInputStream().skipNBytes(socket.getInputStream().available());
    }

    /** Waits for the status of an answer: true if it is 200. */
    boolean isAccepted() throws IOException {
      String begin = "HTTP/1.1 200";
      byte[] status = socket.getInputStream().readNBytes(begin.length());
      return begin.equals(new String(status, StandardCharsets.US_ASCII));
    }

    /** Waits until the server has closed the connection. */
    void awaitClosed() throws IOException {
      socket.getInputStream().transferTo(OutputStream.nullOutputStream());
      countCutOff();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private Socket connect(InetSocketAddress address) throws IOException {
    return connect(address, 0);
  }

  private Socket connect(InetSocketAddress address, int receiveBytes) throws IOException {
    if (connections.incrementAndGet() > attack.bounds().connections()) {
      connections.decrementAndGet();
      end();
      throw new IOException("the attack has had its connections");
    }
    Socket socket = Loopback.connect(address, PATIENCE, receiveBytes);
    open.add(socket);
    if (!isRunning()) {
      socket.close();
    }
    return socket;
  }

  /** Does it in so many threads at once, again and again, until the attempt is over. */
  void repeat(int threads, Step step) throws InterruptedException {
    parallel(
        threads,
        number -> {
          while (isRunning()) {
            try {
              step.run();
            } catch (IOException broken) {
              cutOff();
            }
          }
        });
  }

  /** The work of one of several threads. */
  @FunctionalInterface
  interface Part {
    void run(int number) throws IOException, InterruptedException;
  }

  /** Does it once in each of so many threads, and waits for all. */
  void parallel(int threads, Part part) throws InterruptedException {
    List<Thread> all = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      int number = i;
      Thread thread = new Thread(() -> runPart(part, number), attack.name() + "-" + number);
      thread.setDaemon(true);
      thread.start();
      all.add(thread);
    }
    for (Thread each : all) {
      each.join();
    }
  }

  private void runPart(Part part, int number) {
    try {
      part.run(number);
    } catch (IOException broken) {
      countCutOff();
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
    }
  }

  /** The server has closed a connection; one by the attempt's own end does not count. */
  private void countCutOff() {
    if (isRunning()) {
      cutOff.incrementAndGet();
    }
  }

  /** Counts a connection that the server has closed, and waits before the next. */
  void cutOff() throws InterruptedException {
    countCutOff();
    pause(RECONNECT_MS);
  }

  /** Counts an answer that was an error. */
  void countRefused() {
    refused.incrementAndGet();
  }

  /** Counts sent bytes and waits if they exceed the bound. */
  private final class Counted extends OutputStream {
    private final OutputStream out;

    Counted(OutputStream out) {
      this.out = out;
    }

    @Override
    public void write(int each) throws IOException {
      write(new byte[] {(byte) each}, 0, 1);
    }

    @Override
    public void write(byte[] content, int from, int length) throws IOException {
      Attack.Bounds bounds = attack.bounds();
      int slice = (int) Math.max(1, bounds.bytesPerSecond() / SLICES);
      for (int at = 0; at < length; ) {
        int size = Math.min(slice, length - at);
        long sent = bytes.addAndGet(size);
        if (sent > bounds.bytes()) {
          bytes.addAndGet(-size);
          end();
          throw new IOException("the attack has sent its bytes");
        }
        pace(sent, bounds.bytesPerSecond());
        out.write(content, from + at, size);
        at += size;
      }
    }

    private void pace(long sent, long perSecond) throws IOException {
      long dueNanos = startNanos + (long) (sent * 1e9 / perSecond);
      long early = dueNanos - System.nanoTime();
      if (early > 0) {
        try {
          sleep(early);
        } catch (InterruptedException ended) {
          Thread.currentThread().interrupt();
          throw new IOException("interrupted", ended);
        }
      }
    }
  }
}
