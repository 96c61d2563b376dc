package dev.sluice.cli.demo;

import dev.sluice.Limit;
import dev.sluice.client.Delivery;
import dev.sluice.client.Message;
import dev.sluice.client.MessageConsumer;
import dev.sluice.client.Producer;
import dev.sluice.client.ProducerConfig;
import dev.sluice.client.QueueConfig;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceClientException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Runs two tenants that send to one queue, and workers that call the provider for them. */
public final class DemoTenants implements AutoCloseable {
  /** The lease of a message; after the crash, the time until its redelivery. */
  private static final Duration LEASE = Duration.ofSeconds(5);

  /** Longer than a demo, so that a message sent again after the crash is a duplicate. */
  private static final Duration DEDUPE_WINDOW = Duration.ofMinutes(5);

  private static final int MAX_ATTEMPTS = 5;
  private static final int PREFETCH = 64;
  private static final int WORKERS = 8;
  private static final Duration PROVIDER_CALL = Duration.ofMillis(10);

  private final MessageLog log;
  private final Consumer<Throwable> failed;
  private final Producer noisy;
  private final Producer quiet;
  private final SluiceClient client;
  private final List<Thread> senders = new ArrayList<>();
  private volatile boolean quietEnds;
  private volatile boolean closing;
  private @Nullable MessageConsumer workers;

  /** Makes the queue and the limit. Everything but the sending is for one thread. */
  public DemoTenants(SluiceClient client, MessageLog log, Consumer<Throwable> failed) {
    this.client = client;
    this.log = log;
    this.failed = failed;
    client
        .admin()
        .setThrottle(
            DemoScenario.PROVIDER,
            new Limit.Rate(DemoScenario.RATE_PER_SECOND, DemoScenario.BURST));
    client.createQueue(
        DemoScenario.QUEUE,
        QueueConfig.builder()
            .leaseTimeout(LEASE)
            .dedupeWindow(DEDUPE_WINDOW)
            .maxAttempts(MAX_ATTEMPTS)
            .build());
    this.noisy = client.producer(DemoScenario.QUEUE, ProducerConfig.defaults());
    this.quiet = client.producer(DemoScenario.QUEUE, ProducerConfig.defaults());
  }

  /** Starts the workers. */
  void beginWork() {
    workers = client.consume(DemoScenario.QUEUE, PREFETCH, WORKERS, this::work);
  }

  static Message message(String tenant, String payload) {
    return Message.of(payload).withFairnessKey(tenant).withThrottleKey(DemoScenario.PROVIDER, 1);
  }

  private void work(Delivery message) throws InterruptedException {
    String id = message.text();
    log.delivered(
        id, message.enqueuedAt().toEpochMilli(), message.leaseEndsAt().minus(LEASE).toEpochMilli());
    Thread.sleep(PROVIDER_CALL.toMillis());
    // One that fails is delivered again, and acknowledged then.
    var unused = message.ack().thenRun(() -> log.acked(id));
  }

  /**
   * Sends {@code count} messages of the noisy tenant with a pause after each; returns immediately.
   */
  void flood(String name, int count, Duration pause) {
    begin(
        () -> {
          for (int i = 0; i < count && !closing; i++) {
            var unused = send(noisy, DemoScenario.NOISY, name + i);
            TimeUnit.NANOSECONDS.sleep(pause.toNanos());
          }
        });
  }

  /** Messages of the quiet tenant, each some time after the one before is answered. */
  void beginQuiet() {
    begin(
        () -> {
          for (int i = 0; !closing && !quietEnds; i++) {
            send(quiet, DemoScenario.QUIET, "quiet-" + i).get();
            Thread.sleep(DemoScenario.QUIET_PAUSE.toMillis());
          }
        });
  }

  void endQuiet() {
    quietEnds = true;
  }

  private CompletableFuture<String> send(Producer producer, String tenant, String id) {
    log.sent(tenant, id);
    CompletableFuture<String> answer = producer.send(message(tenant, id).withDedupeId(id));
    var unused =
        answer.whenComplete(
            (stored, failure) -> {
              if (failure == null) {
                log.accepted(id);
              } else {
                fail(failure);
              }
            });
    return answer;
  }

  /** The work of a sending thread. */
  private interface Sending {
    void run() throws InterruptedException, ExecutionException;
  }

  private void begin(Sending sending) {
    Thread thread =
        new Thread(
            () -> {
              try {
                sending.run();
              } catch (InterruptedException ending) {
                Thread.currentThread().interrupt();
              } catch (ExecutionException | SluiceClientException failure) {
                fail(failure);
              }
            },
            "sluice-demo-sender");
    thread.setDaemon(true);
    senders.add(thread);
    thread.start();
  }

  private void fail(Throwable failure) {
    if (!closing) {
      failed.accept(failure);
    }
  }

  /** Returns whether all messages have been sent. */
  boolean sent() {
    return senders.stream().noneMatch(Thread::isAlive);
  }

  /** Ends the load and waits for pending answers. */
  @Override
  public void close() {
    closing = true;
    senders.forEach(Thread::interrupt);
    noisy.close();
    quiet.close();
    if (workers != null) {
      workers.close();
    }
  }
}
