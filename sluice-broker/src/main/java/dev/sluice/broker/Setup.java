package dev.sluice.broker;

import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What queues, their scripts and the configuration take of the heap. The text of a script is kept
 * once, however many queues have it. Belongs to the thread of the state machine.
 */
final class Setup {
  /** A queue with its statistics, counters and metrics. */
  static final long QUEUE_BYTES = 8_000;

  /** A script that is compiled takes about so many times its text. */
  static final long SCRIPT_FACTOR = 8;

  /** An entry of the configuration beside its text, the bucket of a throttle key included. */
  static final long ENTRY_BYTES = 1_000;

  private final HeapRoom room;
  private final Map<String, Script> scripts = new HashMap<>();

  /** A text and how many queues have it; twice by the same queue counts as two. */
  private static final class Script {
    final String text;
    int users;

    Script(String text) {
      this.text = text;
    }
  }

  Setup(HeapRoom room) {
    this.room = room;
  }

  private static Stream<String> scriptsOf(QueueConfig config) {
    return Stream.of(config.onEnqueue(), config.onFailure()).flatMap(Stream::ofNullable);
  }

  private static long bytes(String script) {
    return SCRIPT_FACTOR * script.length();
  }

  /**
   * Checks that there is room for so many more queues and the scripts of {@code config}.
   *
   * @throws BrokerException if there is not
   */
  void requireRoom(int queues, QueueConfig config) {
    long more =
        scriptsOf(config)
            .distinct()
            .filter(each -> !scripts.containsKey(each))
            .mapToLong(Setup::bytes)
            .sum();
    room.require(queues * QUEUE_BYTES + more);
  }

  /** Counts a queue of {@code config}; returns the same, which shares its texts with others. */
  QueueConfig added(QueueConfig config) {
    room.add(QUEUE_BYTES);
    return config.toBuilder()
        .onEnqueue(shared(config.onEnqueue()))
        .onFailure(shared(config.onFailure()))
        .build();
  }

  private @Nullable String shared(@Nullable String text) {
    if (text == null) {
      return null;
    }
    Script script = scripts.get(text);
    if (script == null) {
      script = new Script(text);
      scripts.put(text, script);
      room.add(bytes(text));
    }
    script.users++;
    return script.text;
  }

  /** A queue of {@code config} is gone, or has another one. */
  void removed(QueueConfig config) {
    room.remove(QUEUE_BYTES);
    scriptsOf(config).forEach(this::leave);
  }

  private void leave(String text) {
    Script script = scripts.get(text);
    if (script != null && --script.users == 0) {
      scripts.remove(text);
      room.remove(bytes(text));
    }
  }

  /**
   * An entry of the configuration has another value; null for none.
   *
   * @throws BrokerException if there is no room for it, and nothing has changed
   */
  void changed(String key, @Nullable String before, @Nullable String after) {
    long more = bytes(key, after) - bytes(key, before);
    room.require(more);
    room.add(more);
  }

  /** As it was stored: counted, never refused. */
  void restored(String key, String value) {
    room.add(bytes(key, value));
  }

  private static long bytes(String key, @Nullable String value) {
    return value == null ? 0 : ENTRY_BYTES + key.length() + value.length();
  }
}
