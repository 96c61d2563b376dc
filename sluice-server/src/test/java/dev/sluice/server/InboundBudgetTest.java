package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.transport.RequestMemoryBudget;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** No connection and no key keeps everything, and a single request gets enough. */
final class InboundBudgetTest {
  private static final int MAX = 800;

  private final RequestMemoryBudget budget = new RequestMemoryBudget(MAX);
  private final List<String> evicted = new ArrayList<>();

  @Test
  void connection_getsAQuarterOfTheBudget() {
    assertThat(budget.part("c1", "k1").take(100)).isTrue();
    RequestMemoryBudget.Reservation second = budget.part("c1", "k1");
    assertThat(second.take(100)).isTrue();
    assertThat(second.take(1)).isFalse();
    assertThat(budget.part("c2", "k1").take(1)).isTrue();
    assertThat(budget.used()).isEqualTo(201);
  }

  /** The operation goes on although its call is over. */
  @Test
  void hold_outlivesItsPart() {
    RequestMemoryBudget.Reservation part = budget.part("c1", "k1");
    assertThat(part.take(50)).isTrue();
    ConcurrencyQuota.Hold hold = part.hold(100);
    part.close();
    assertThat(budget.used()).isEqualTo(100);
    assertThat(budget.part("c2", "k1").take(350)).isFalse();
    part.close();
    hold.close();
    hold.close();
    assertThat(budget.used()).isZero();
    assertThat(budget.part("c3", "k1").take(MAX)).isTrue();
  }

  @Test
  void holdOfAClosedPart_takesNothing() {
    RequestMemoryBudget.Reservation part = budget.part("c1", "k1");
    part.close();
    part.hold(100).close();
    assertThat(budget.used()).isZero();
  }

  @Test
  void key_getsHalfOfTheBudget_overAllItsConnections() {
    for (int i = 0; i < 4; i++) {
      assertThat(budget.part("c" + i, "k1").take(100)).isTrue();
    }
    assertThat(budget.part("c5", "k1").take(1)).isFalse();
    assertThat(budget.part("c6", "k2").take(200)).isTrue();
  }

  @Test
  void singleRequest_mayExceedItsShares_butNotTheTotal() {
    RequestMemoryBudget.Reservation other = budget.part("c0", "k0");
    assertThat(other.take(50)).isTrue();
    RequestMemoryBudget.Reservation large = budget.part("c1", "k1");
    assertThat(large.take(700)).isTrue();
    assertThat(large.take(51)).isFalse();
    assertThat(budget.part("c1", "k1").take(1)).isFalse();
    assertThat(budget.part("c2", "k2").take(1)).isTrue();
    assertThat(budget.used()).isEqualTo(751);
  }

  @Test
  void requestAlone_mayExceedTheTotal() {
    RequestMemoryBudget.Reservation alone = budget.part("c1", null);
    assertThat(alone.take(MAX)).isTrue();
    assertThat(alone.take(MAX)).isTrue();
    assertThat(budget.part("c2", null).take(1)).isFalse();
  }

  /** A part of a key of its own that notes in {@link #evicted} when it has to go. */
  private RequestMemoryBudget.Reservation evictable(String key, long bytes) {
    RequestMemoryBudget.Reservation part =
        budget.part("connection of " + key + evicted.size(), key);
    part.evictBy(() -> evicted.add(key));
    assertThat(part.take(bytes)).isTrue();
    return part;
  }

  @Test
  void fullBudget_largestHolderMakesRoomForSmallerOnes() {
    evictable("k1", 300);
    evictable("k2", 400);
    evictable("k3", 100);
    RequestMemoryBudget.Reservation small = budget.part("c4", "k4");
    assertThat(small.take(50)).isTrue();
    assertThat(evicted).containsExactly("k2");
    assertThat(budget.used()).isEqualTo(450);
  }

  /** The rest of it may have arrived before its thread heard of the eviction. */
  @Test
  void evictedRequest_reservesNoMore_andIsNotComplete() {
    RequestMemoryBudget.Reservation large = budget.part("c1", "k1");
    large.evictBy(() -> evicted.add("k1"));
    assertThat(large.take(MAX)).isTrue();
    assertThat(budget.part("c2", "k2").take(100)).isTrue();
    assertThat(evicted).containsExactly("k1");
    assertThat(large.take(1)).isFalse();
    assertThat(large.complete()).isFalse();
    assertThat(budget.used()).isEqualTo(100);
  }

  @Test
  void requestThatClosedItsPart_isComplete() {
    RequestMemoryBudget.Reservation part = budget.part("c1", "k1");
    part.close();
    assertThat(part.take(1)).isTrue();
    assertThat(part.complete()).isTrue();
  }

  @Test
  void fullBudget_holdersOfLessAreSafe() {
    evictable("k1", 300);
    evictable("k2", 300);
    evictable("k3", 200);
    assertThat(budget.part("c4", "k4").take(300)).isFalse();
    assertThat(evicted).isEmpty();
    assertThat(budget.part("c4", "k4").take(299)).isTrue();
    assertThat(evicted).hasSize(1).doesNotContain("k3");
  }

  @Test
  void fullBudget_keyGetsNoRoomByMoreConnections() {
    evictable("k1", 200);
    evictable("k2", 200);
    evictable("k3", 200);
    RequestMemoryBudget.Reservation own = budget.part("c4", "k1");
    assertThat(own.take(200)).isTrue();
    assertThat(budget.part("c5", "k1").take(1)).isFalse();
    assertThat(evicted).isEmpty();
  }

  @Test
  void completeRequest_isNeverEvicted() {
    evictable("k1", 400).complete();
    RequestMemoryBudget.Reservation late = evictable("k2", 400);
    late.complete();
    late.evictBy(() -> evicted.add("k2"));
    assertThat(budget.part("c3", "k3").take(1)).isFalse();
    assertThat(evicted).isEmpty();
  }

  /** All other requests are complete; neither the idle stream nor the sending one is evicted. */
  @Test
  void fullBudget_accountThatHoldsLittleIsNeverEvicted() {
    evictable("k1", 500).complete();
    evictable("k2", 288).complete();
    evictable("little", 6);
    evictable("little", 6).idle(true);
    assertThat(budget.part("c3", "k3").take(1)).isFalse();
    assertThat(evicted).isEmpty();
  }

  @Test
  void fullBudget_idleStreamsAreEvictedLast_andOnlyThoseOfLargeHolders() {
    evictable("idle", 400).idle(true);
    evictable("few idle", 50).idle(true);
    evictable("arriving", 100);
    evictable("complete", 250).complete();
    assertThat(budget.part("c1", "k1").take(90)).isTrue();
    assertThat(evicted).containsExactly("arriving");
    assertThat(budget.part("c2", "k2").take(90)).isTrue();
    assertThat(evicted).containsExactly("arriving", "idle");
    assertThat(budget.part("c3", "k3").take(320)).isTrue();
    assertThat(budget.part("c4", "k4").take(10)).as("no evictable part is left").isFalse();
    assertThat(evicted).hasSize(2);
  }

  @Test
  void withoutKeys_theLargestConnectionMakesRoom() {
    RequestMemoryBudget.Reservation large = budget.part("c1", null);
    large.evictBy(() -> evicted.add("c1"));
    assertThat(large.take(MAX)).isTrue();
    assertThat(budget.part("c2", null).take(1)).isTrue();
    assertThat(evicted).containsExactly("c1");
    assertThat(large.take(10)).as("a part that was evicted takes nothing").isFalse();
    assertThat(budget.used()).isEqualTo(1);
  }

  @Test
  void closedPart_releasesItsMemoryOnce() {
    RequestMemoryBudget.Reservation part = budget.part("c1", "k1");
    assertThat(part.take(300)).isTrue();
    part.give(100);
    part.close();
    part.close();
    assertThat(part.take(500)).isTrue();
    part.give(500);
    assertThat(budget.used()).isZero();
  }

  @Test
  void set_replacesTheReservedAmount() {
    RequestMemoryBudget.Reservation part = budget.part("c1", null);
    assertThat(part.set(500)).isTrue();
    RequestMemoryBudget.Reservation other = budget.part("c2", null);
    assertThat(other.set(400)).isFalse();
    assertThat(budget.used()).isEqualTo(900);
    assertThat(other.set(100)).isTrue();
    assertThat(budget.used()).isEqualTo(600);
  }
}
