package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.redis.internal.store.ReplyMapper;
import dev.sluice.governor.redis.internal.store.ScriptReply;
import dev.sluice.governor.redis.internal.store.TicketWaiters;
import dev.sluice.governor.spi.StoreSnapshot;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The order of the awaited tickets with which a node's share starts. */
final class TicketWaitersTest {
  private final TicketWaiters waiters = new TicketWaiters();

  private void add(String id, long order) {
    waiters
        .add(id, new CompletableFuture<>())
        .setPlace(
            new StoreSnapshot.OpenTicket(id, OutageRig.request(1), 1, 0, Long.MAX_VALUE), order);
  }

  @Test
  void places_areInTheRequestOrderOfRedis_notOfReplies() {
    // Asked for at 700 and 900 of the Redis clock; the second answer was read after a pause of
    // 1,000.
    ScriptReply first = reply(300);
    ScriptReply second = reply(200);
    add("second", ReplyMapper.askedMicros(second, 1_100));
    add("first", ReplyMapper.askedMicros(first, 1_000));
    add("made here", 950);
    waiters.add("unknown", new CompletableFuture<>());
    assertThat(waiters.places())
        .extracting(StoreSnapshot.OpenTicket::id)
        .containsExactly("first", "second", "made here");
  }

  private static ScriptReply reply(long waited) {
    return new ScriptReply(
        List.of("q", "id", 1L, "P1", 1L, 1L, 1L, 1L, "TOKENS", 0L, "", "", 1L, waited));
  }
}
