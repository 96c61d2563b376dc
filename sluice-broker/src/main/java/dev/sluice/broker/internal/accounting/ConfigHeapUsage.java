package dev.sluice.broker.internal.accounting;

import dev.sluice.broker.QueueConfig;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Counts the heap of queues, their scripts and the configuration. The text of a script, and a
 * pattern of the throttle keys that it may name, is kept once, however many queues have it. Used by
 * the thread of the engine alone.
 */
public final class ConfigHeapUsage {
  /** The estimated heap of a queue with its statistics, counters and metrics. */
  public static final long QUEUE_BYTES = 8_000;

  /** The estimated heap of a compiled script, in bytes for each character of its text. */
  static final long SCRIPT_FACTOR = 8;

  /** The estimated heap of a script or a pattern besides its characters. */
  static final long TEXT_BYTES = 200;

  /**
   * The estimated heap of an entry of the configuration besides its text; includes the bucket of a
   * throttle key.
   */
  static final long ENTRY_BYTES = 1_000;

  private final HeapBudget budget;
  private final Map<String, ConfigHeapUsage.SharedText> texts = new HashMap<>();

  /** A text and its number of users; a queue that has it as both scripts counts twice. */
  private static final class SharedText {
    final String text;
    int users;

    SharedText(String text) {
      this.text = text;
    }
  }

  public ConfigHeapUsage(HeapBudget room) {
    this.budget = room;
  }

  private static Stream<String> textsOf(QueueConfig config) {
    return Stream.concat(
        Stream.of(config.onEnqueue(), config.onFailure()).flatMap(Stream::ofNullable),
        config.hookThrottleKeys().stream());
  }

  private static long bytes(String text) {
    return TEXT_BYTES + SCRIPT_FACTOR * text.length();
  }

  /**
   * Checks that there is room for so many more queues and the texts of {@code config}.
   *
   * @throws BrokerException if there is not
   */
  public void requireHeap(int queues, QueueConfig config) {
    long more =
        textsOf(config)
            .distinct()
            .filter(each -> !texts.containsKey(each))
            .mapToLong(ConfigHeapUsage::bytes)
            .sum();
    budget.require(queues * QUEUE_BYTES + more);
  }

  /** Counts a queue of {@code config}; returns it with its texts shared. */
  public QueueConfig added(QueueConfig config) {
    budget.add(QUEUE_BYTES);
    return config.toBuilder()
        .onEnqueue(sharedOrNull(config.onEnqueue()))
        .onFailure(sharedOrNull(config.onFailure()))
        .hookThrottleKeys(config.hookThrottleKeys().stream().map(this::shared).toList())
        .build();
  }

  private @Nullable String sharedOrNull(@Nullable String text) {
    return text == null ? null : shared(text);
  }

  private String shared(String text) {
    ConfigHeapUsage.SharedText known = texts.get(text);
    if (known == null) {
      known = new ConfigHeapUsage.SharedText(text);
      texts.put(text, known);
      budget.add(bytes(text));
    }
    known.users++;
    return known.text;
  }

  /** Uncounts a queue of {@code config} that was deleted or has been given another one. */
  public void removed(QueueConfig config) {
    budget.remove(QUEUE_BYTES);
    textsOf(config).forEach(this::leave);
  }

  private void leave(String text) {
    ConfigHeapUsage.SharedText known = texts.get(text);
    if (known != null && --known.users == 0) {
      texts.remove(text);
      budget.remove(bytes(text));
    }
  }

  /**
   * Counts a change of an entry of the configuration; null stands for no entry.
   *
   * @throws BrokerException if there is no room for it, and nothing has changed
   */
  public void changed(String key, @Nullable String before, @Nullable String after) {
    long more = bytes(key, after) - bytes(key, before);
    budget.require(more);
    budget.add(more);
  }

  /** Counts an entry that was stored before; never refused. */
  public void restored(String key, String value) {
    budget.add(bytes(key, value));
  }

  private static long bytes(String key, @Nullable String value) {
    return value == null ? 0 : ENTRY_BYTES + key.length() + value.length();
  }
}
