package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.Limit;
import dev.sluice.broker.internal.engine.LimitConfigEntry;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;

/** The messages for a broker that is killed, and their queues. */
final class KillLoad {
  /** Of the messages that one process may send; the second half goes to {@link #SLOW}. */
  static final long NUMBERS = 10_000_000;

  /** Its messages wait for a throttle that takes longer to fill than the broker is down. */
  static final String SLOW = "c";

  static final Duration LEASE = Duration.ofSeconds(1);
  static final Map<String, LimitConfigEntry> RATES =
      Map.of(
          "t1", new LimitConfigEntry(300, 10),
          "t2", new LimitConfigEntry(200, 5),
          "t3", new LimitConfigEntry(2, 8));

  private static final String ON_FAILURE =
      """
      function on_failure(msg)
        if msg.attempts >= 3 then return { action = "dlq" } end
        return { action = "retry", delay_ms = 20 * msg.attempts }
      end
      """;

  private KillLoad() {}

  /** Makes what is missing. */
  static void prepare(Broker broker, boolean allDurable) {
    Set<String> there = broker.queues().keySet();
    QueueConfig config =
        QueueConfig.builder()
            .leaseTimeout(LEASE)
            .maxAttempts(3)
            .retryDelay(Duration.ofMillis(20))
            .maxDepth(150)
            .dedupeWindow(Duration.ofHours(1))
            .build();
    if (!there.contains("a")) {
      broker.createQueue("a", config);
    }
    if (!there.contains("b")) {
      Durability durability = allDurable ? Durability.ALWAYS : Durability.OS;
      broker.createQueue(
          "b",
          config.toBuilder().durability(durability).maxAttempts(0).onFailure(ON_FAILURE).build());
    }
    if (!there.contains(SLOW)) {
      broker.createQueue(SLOW, config.toBuilder().maxDepth(30).build());
    }
    broker.queues().forEach((name, is) -> lease(broker, name, is));
    RATES.forEach(
        (key, rate) -> {
          if (broker.config(LimitConfigEntry.configKey(key)).isEmpty()) {
            broker.setLimit(key, Limit.ofRate(rate.perSecond(), rate.burst()));
          }
        });
  }

  private static void lease(Broker broker, String queue, QueueConfig config) {
    if (!config.leaseTimeout().equals(LEASE)) {
      broker.updateQueue(queue, is -> is.toBuilder().leaseTimeout(LEASE).build(), null);
    }
  }

  private static boolean isSlow(long number) {
    return number % NUMBERS >= NUMBERS / 2;
  }

  /**
   * Whether consumers of {@code queue} fail each time, so that the message becomes a dead letter.
   */
  static boolean isPoison(long number, String queue) {
    return number % 16 == 5 && !QueueNames.isDeadLetterQueue(queue);
  }

  static String queueOf(long number) {
    return isSlow(number) ? SLOW : (number & 1) == 0 ? "a" : "b";
  }

  /** A message that says who it is. */
  static Message message(long number) {
    Message message =
        Message.of(payload(number))
            .withFairnessKey("k" + (number >> 1) % 4)
            .withDedupeId("d" + number);
    if (isSlow(number)) {
      return message.withThrottleKeys("t3");
    }
    return switch ((int) ((number >> 3) % 8)) {
      case 0 -> message.withThrottleKeys("t1");
      case 1 -> message.withThrottleKeys("t1", "t2");
      default -> message;
    };
  }

  private static byte[] payload(long number) {
    byte[] head = (number + " ").getBytes(UTF_8);
    byte[] payload = Arrays.copyOf(head, head.length + (int) (number * 7919 % 1500));
    for (int i = head.length; i < payload.length; i++) {
      payload[i] = (byte) (number + i);
    }
    return payload;
  }

  /** Which message {@code payload} is. */
  static long number(byte[] payload) {
    int end = 0;
    while (payload[end] != ' ') {
      end++;
    }
    long number = Long.parseLong(new String(payload, 0, end, UTF_8));
    if (!Arrays.equals(payload, payload(number))) {
      throw new IllegalStateException("not the payload of message " + number);
    }
    return number;
  }
}
