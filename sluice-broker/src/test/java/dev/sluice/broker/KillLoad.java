package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** What is sent to a broker that is killed, and the queues it is sent to. */
final class KillLoad {
  static final List<String> SOURCES = List.of("a", "b");
  static final List<String> QUEUES = List.of("a", "b", "a.dlq", "b.dlq");
  static final Duration LEASE = Duration.ofSeconds(1);
  static final ThrottleRate RATE = new ThrottleRate(300, 10);
  static final List<String> THROTTLES = List.of("t1", "t2");

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
    for (String name : QUEUES) {
      if (DeadLetter.isDeadLetterQueue(name)
          && !broker.queues().get(name).leaseTimeout().equals(LEASE)) {
        broker.updateQueue(name, broker.queues().get(name).toBuilder().leaseTimeout(LEASE).build());
      }
    }
    for (String key : THROTTLES) {
      if (broker.config(ThrottleRate.configKey(key)).isEmpty()) {
        broker.setThrottle(key, RATE.perSecond(), RATE.burst());
      }
    }
  }

  static String queueOf(long number) {
    return SOURCES.get((int) (number & 1));
  }

  /** A message that says who it is. */
  static Message message(long number) {
    Message message =
        Message.of(payload(number)).withKey("k" + (number >> 1) % 4).withDedupeId("d" + number);
    return switch ((int) ((number >> 3) % 8)) {
      case 0 -> message.withThrottles("t1");
      case 1 -> message.withThrottles("t1", "t2");
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
