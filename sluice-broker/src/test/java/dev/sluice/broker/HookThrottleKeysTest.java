package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.internal.engine.Schema;
import dev.sluice.broker.internal.hooks.HookEngine;
import dev.sluice.broker.internal.hooks.HookException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A hook names only the throttle keys that its queue lets it name. */
@Timeout(60)
final class HookThrottleKeysTest {
  /** Names the key that the message wants, and its own fairness key. */
  private static final String HOOK =
      "function on_enqueue(m)"
          + " return { fairness_key = 'f', weight = 3, throttle_keys = { 'own.a', m.headers.key } }"
          + " end";

  @TempDir private Path dir;
  private final Queue<String> outcomes = new ConcurrentLinkedQueue<>();
  private Broker broker;

  @BeforeEach
  void open() {
    BrokerMetrics metrics =
        new BrokerMetrics() {
          @Override
          public void hook(String queue, Hook hook, HookOutcome outcome, long nanos) {
            outcomes.add(queue + " " + outcome);
          }
        };
    broker = Broker.open(dir, BrokerConfig.builder().metrics(metrics).build());
  }

  @AfterEach
  void close() {
    broker.close();
  }

  private static QueueConfig config(String... patterns) {
    return QueueConfig.builder().onEnqueue(HOOK).hookThrottleKeys(List.of(patterns)).build();
  }

  private StoredMessage enqueue(String queue, String key) throws Exception {
    Message message = Message.of("x").withHeader("key", key);
    broker.enqueue(queue, message).get(30, TimeUnit.SECONDS);
    List<StoredMessage> all = broker.view().browse(queue, null, 1_000, BrokerView.PreviewSize.ALL);
    return all.get(all.size() - 1);
  }

  private static void assertDefault(StoredMessage message) {
    assertThat(message.throttleKeys()).isEmpty();
    assertThat(message.fairnessKey()).isEqualTo("default");
  }

  @Test
  void keyOutsideThePatterns_isAFailureOfTheHook() throws Exception {
    broker.createQueue("q", config("own.*", "one"));
    assertThat(enqueue("q", "one").throttleKeys()).containsExactly("one", "own.a");
    for (String other : List.of("one.more", "own", "*")) {
      assertDefault(enqueue("q", other));
    }
    assertDefault(enqueue("q", "one"));
    assertThat(outcomes)
        .containsExactly("q ANSWERED", "q FAILED", "q FAILED", "q FAILED", "q BYPASSED");
  }

  @Test
  void error_namesTheKeyAndThePatterns() {
    HookEngine.EnqueueResult result =
        new HookEngine.EnqueueResult("f", 1, List.of("own.a", "shared.provider"));
    assertThat(result.requireThrottleKeysIn(List.of("shared.*", "own.a"))).isSameAs(result);
    assertThatThrownBy(() -> result.requireThrottleKeysIn(List.of("own.*")))
        .isInstanceOf(HookException.class)
        .hasMessage(
            "a throttle key of on_enqueue must match one of hookThrottleKeys [own.*], but was"
                + " shared.provider");
    assertThat(HookEngine.EnqueueResult.DEFAULT.requireThrottleKeysIn(List.of()))
        .isSameAs(HookEngine.EnqueueResult.DEFAULT);
  }

  @Test
  void withoutPatterns_everyKeyMayBeNamed() throws Exception {
    broker.createQueue("q", QueueConfig.builder().onEnqueue(HOOK).build());
    assertThat(broker.queues().get("q").hookThrottleKeys()).containsExactly("*");
    assertThat(enqueue("q", "any").throttleKeys()).containsExactly("any", "own.a");
  }

  @Test
  void oneScriptOfTwoQueues_isCheckedByThePatternsOfEach() throws Exception {
    broker.createQueue("more", config("own.*", "one"));
    broker.createQueue("less", config("own.*"));
    for (int i = 0; i < 2; i++) {
      assertThat(enqueue("more", "one").throttleKeys()).containsExactly("one", "own.a");
      assertDefault(enqueue("less", "one"));
      broker.close();
      open();
    }
  }

  @Test
  void newPatterns_applyToLaterMessages() throws Exception {
    broker.createQueue("q", config("own.*"));
    assertDefault(enqueue("q", "one"));
    broker.updateQueue("q", before -> config("own.*", "one"), null);
    assertThat(enqueue("q", "one").throttleKeys()).containsExactly("one", "own.a");
    broker.updateQueue("q", before -> config(), null);
    assertDefault(enqueue("q", "one"));
  }

  @Test
  void redriveThatRunsTheHook_isChecked() throws Exception {
    broker.createQueue("q", config("own.*"));
    enqueue("q.dlq", "one");
    assertThat(broker.redrive("q.dlq", 0, true)).isEqualTo(1);
    assertDefault(broker.view().browse("q", null, 1, BrokerView.PreviewSize.ALL).get(0));
    assertThat(outcomes).containsExactly("q FAILED");
  }

  @Test
  void rowOfVersion3_letsTheHookNameEveryKey() {
    QueueConfig config = config();
    byte[] row = Schema.queueRow("q", config, 300);
    assertThat(Schema.queueRow(row)).isEqualTo(new Schema.QueueRow("q", config, 300));
    // Version 3 ends before the number of patterns, which is 0 here.
    byte[] old = Arrays.copyOf(row, row.length - 1);
    assertThat(Schema.queueRow(old)).isEqualTo(new Schema.QueueRow("q", config("*"), 300));
    QueueConfig several = config("own.*", "one", "ü:*");
    assertThat(Schema.queueRow(Schema.queueRow("q", several, 1)).config()).isEqualTo(several);
  }

  @Test
  void invalidPattern_isRefused() {
    QueueConfig.Builder builder = QueueConfig.builder().hookThrottleKeys(List.of("a", "b*"));
    assertThatIllegalArgumentException()
        .isThrownBy(builder::build)
        .withMessage("pattern must be a name, a prefix and .* or :*, or *, but was b*");
  }
}
