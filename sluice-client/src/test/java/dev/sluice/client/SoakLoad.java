package dev.sluice.client;

import static org.awaitility.Awaitility.await;

import dev.sluice.Limit;
import dev.sluice.testkit.ServerProcess;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Loads a server from all sides: messages that are acknowledged, fail, wait and become dead
 * letters; limits, tokens of models, and clients, queues and connections that come and go. It knows
 * each message that the server confirmed, and each that it handed over and took the acknowledgment
 * of.
 */
final class SoakLoad implements AutoCloseable {
  private static final String QUEUE = "soak";
  private static final String DEAD = QUEUE + ".dlq";
  private static final Duration DRAIN = Duration.ofMinutes(3);

  /** Every such message fails once, or until it is a dead letter. */
  private static final int FAILS_ONCE = 50;

  private static final int FAILS_ALWAYS = 499;

  /** Messages on their way: more would fill the heap that the server allows for them. */
  private static final int MAX_PENDING = 50_000;

  private final ServerProcess server;
  private final SluiceClient client;
  private final Producer producer;
  private final Semaphore pending = new Semaphore(MAX_PENDING);
  private final AtomicInteger next = new AtomicInteger();
  private final BitSet confirmed = new BitSet();
  private final BitSet acked = new BitSet();
  private final ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
  private volatile boolean loading;
  private volatile boolean healed;

  SoakLoad(ServerProcess server) {
    this.server = server;
    client = SluiceClient.connect("127.0.0.1", server.grpcPort());
    client.setLimit("rate", new Limit.Rate(1_000_000, 1_000_000));
    client.setLimit("each:*", new Limit.Rate(1_000, 1_000));
    client.createQueue(QUEUE, QueueConfig.builder().maxAttempts(3).build());
    client.consume(QUEUE, 200, 4, this::handle);
    producer = client.producer(QUEUE, ProducerConfig.defaults());
  }

  /** Loads the server for so long, then waits until it has no message left. */
  void round(Duration length) throws Exception {
    loading = true;
    healed = false;
    ExecutorService threads = Executors.newCachedThreadPool();
    List<Future<?>> running = new ArrayList<>();
    for (Step step :
        List.<Step>of(this::send, this::send, this::decide, this::reserve, this::comeAndGo)) {
      running.add(threads.submit(repeat(step)));
    }
    TimeUnit.NANOSECONDS.sleep(length.toNanos());
    loading = false;
    for (Future<?> each : running) {
      each.get();
    }
    threads.shutdown();
    drain();
  }

  private interface Step {
    void run() throws Exception;
  }

  private Callable<Void> repeat(Step step) {
    return () -> {
      while (loading) {
        step.run();
      }
      return null;
    };
  }

  private void drain() {
    await().atMost(DRAIN).until(() -> depth(QUEUE) == 0);
    healed = true;
    client.redrive(DEAD, 0, false);
    await().atMost(DRAIN).until(() -> depth(QUEUE) == 0 && depth(DEAD) == 0);
    await().atMost(DRAIN).until(() -> missing().isEmpty() || !failures.isEmpty());
  }

  private long depth(String queue) {
    return client.queue(queue).depth();
  }

  /** Messages that the server confirmed, and that no consumer has acknowledged. */
  BitSet missing() {
    synchronized (confirmed) {
      BitSet missing = (BitSet) confirmed.clone();
      synchronized (acked) {
        missing.andNot(acked);
      }
      return missing;
    }
  }

  int confirmed() {
    synchronized (confirmed) {
      return confirmed.cardinality();
    }
  }

  List<Throwable> failures() {
    return List.copyOf(failures);
  }

  private void send() throws InterruptedException {
    if (!pending.tryAcquire(1, TimeUnit.SECONDS)) {
      return;
    }
    int number = next.getAndIncrement();
    Message message =
        Message.of(number + ":" + "x".repeat(number % 1_000))
            .withFairnessKey("key" + number % 97)
            .withThrottleKey("rate", 1);
    if (number % 20 == 0) {
      message = message.withDelay(Duration.ofMillis(200));
    }
    var unused = producer.send(message).whenComplete((id, failure) -> sent(number, failure));
  }

  private void sent(int number, Throwable failure) {
    if (failure != null) {
      pending.release();
      failures.add(failure);
      return;
    }
    synchronized (confirmed) {
      confirmed.set(number);
    }
  }

  private void handle(Delivery message) {
    int number = Integer.parseInt(message.text().split(":", 2)[0]);
    boolean fails =
        number % FAILS_ALWAYS == 0 ? !healed : number % FAILS_ONCE == 0 && message.attempts() == 0;
    if (fails) {
      message.nack("soak").join();
      return;
    }
    message.ack().join();
    pending.release();
    synchronized (acked) {
      acked.set(number);
    }
  }

  private void decide() {
    client.decideAsync(Map.of("rate", 1L, "each:" + next.get() % 1_000, 1L)).join();
  }

  private void reserve() {
    TokenDecision outcome =
        client
            .governor()
            .request(TokenRequest.of("deepseek-r1", 100).withTenant("t" + next.get() % 100));
    if (outcome instanceof TokenDecision.Granted granted) {
      client.governor().settle(granted.reservation(), 50);
    } else if (outcome instanceof TokenDecision.Queued queued) {
      client.governor().cancel(queued.ticket());
    }
  }

  private void comeAndGo() throws IOException {
    String queue = "visit" + next.get();
    try (SluiceClient visitor = SluiceClient.connect("127.0.0.1", server.grpcPort())) {
      visitor.createQueue(queue, QueueConfig.defaults());
      visitor.enqueue(queue, Message.of("hello"));
      visitor.receive(queue, 1, Duration.ofSeconds(10)).forEach(each -> each.ack().join());
      visitor.deleteQueue(queue);
    }
    for (String path : List.of("/readyz", "/metrics", "/v1/queues")) {
      URI address = URI.create("http://127.0.0.1:" + server.httpPort() + path);
      HttpURLConnection connection = (HttpURLConnection) address.toURL().openConnection();
      connection.setRequestProperty("Connection", "close");
      connection.getInputStream().readAllBytes();
      connection.disconnect();
    }
  }

  @Override
  public void close() {
    client.close();
  }
}
