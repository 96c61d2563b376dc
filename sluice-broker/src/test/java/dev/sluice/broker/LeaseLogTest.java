package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.engine.BatchEncoder;
import dev.sluice.broker.internal.engine.CommitBatch;
import dev.sluice.broker.internal.engine.Dispatcher;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.engine.Schema;
import dev.sluice.broker.internal.store.StoreTable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The stored rows of leases are few, however long leases are held and however often extended. */
final class LeaseLogTest {
  private static final long SECOND = EngineFixture.SECOND;

  /** More than the log has by its bounds, for the few leases of these tests. */
  private static final int MANY = 1_002;

  private final SteppedBroker broker = new SteppedBroker();

  @BeforeEach
  void create() {
    broker.create("q", QueueConfig.builder().leaseTimeout(Duration.ofSeconds(60)).build());
  }

  private List<PendingDelivery> lease(int messages) {
    broker.enqueue("q", messages);
    broker.consume("q", messages);
    List<PendingDelivery> leased = broker.taken();
    assertThat(leased).hasSize(messages);
    return leased;
  }

  private void extend(PendingDelivery delivery, long nanos) {
    broker.engine.dispatcher.extend("q", claim(delivery), nanos, new CompletableFuture<>());
  }

  private static Dispatcher.LeaseRef claim(PendingDelivery delivery) {
    return new Dispatcher.LeaseRef(delivery.entry().id(), delivery.token());
  }

  private int storedRows() {
    int[] rows = {0};
    broker.store.scan(
        StoreTable.LEASE,
        new byte[0],
        Schema.END,
        (key, value) -> {
          rows[0]++;
          return true;
        });
    return rows[0];
  }

  private List<MessageEntry> leased() {
    return broker.engine.state.index.find(any -> any.lease() != null);
  }

  @Test
  void leaseThatIsExtendedAgainAndAgain_keepsOneRow() {
    PendingDelivery lease = lease(1).get(0);
    for (int i = 0; i < 10; i++) {
      extend(lease, 60 * SECOND);
      broker.step();
      assertThat(storedRows()).isEqualTo(1);
    }
    broker.ack(lease);
    assertThat(storedRows()).isZero();
  }

  @Test
  void leaseThatIsHeldForLong_keepsABoundedNumberOfRows_andSurvivesARestart() {
    List<PendingDelivery> leases = lease(2);
    extend(leases.get(0), 7_200 * SECOND);
    for (int i = 0; i < 10_000; i++) {
      extend(leases.get(1), 60 * SECOND + i);
      broker.step();
    }
    assertThat(broker.engine.state.leaseLog.rowCount()).isBetween(2, MANY);
    assertThat(storedRows()).isEqualTo(broker.engine.state.leaseLog.rowCount());
    long now = broker.now;
    broker.kill();
    assertThat(leased()).hasSize(2);
    assertThat(storedRows()).isEqualTo(1);
    assertThat(broker.engine.state.timers.firstDue()).isEqualTo(now + 60 * SECOND + 9_999);
    assertThat(broker.toNextTimer()).isTrue();
    assertThat(leased()).extracting(MessageEntry::id).containsExactly(leases.get(0).entry().id());
  }

  /** The first row has all leases, and is kept for the second one. */
  @Test
  void revokedLease_isNotRevivedByARowThatAnotherLeaseNeeds() {
    List<PendingDelivery> leases = lease(3);
    for (int i = 0; i < 3; i++) {
      extend(leases.get(0), 60 * SECOND);
      broker.step();
    }
    broker.engine.dispatcher.release("q", claim(leases.get(0)), new CompletableFuture<>());
    broker.commit(); // and no tick, which would lease it again
    extend(leases.get(2), 60 * SECOND);
    broker.commit();
    for (int restart = 0; restart < 2; restart++) {
      broker.kill();
      assertThat(leased())
          .extracting(MessageEntry::id)
          .containsExactly(leases.get(1).entry().id(), leases.get(2).entry().id());
    }
  }

  @Test
  void rowsOfManyRecords_areNotKeptForOneOldLease() {
    int many = 2_000;
    List<PendingDelivery> leases = lease(many);
    for (int i = 0; i < 100; i++) {
      leases.subList(1, many).forEach(each -> extend(each, 60 * SECOND));
      broker.step();
    }
    assertThat(broker.engine.state.leaseLog.rowCount()).isLessThan(40);
    broker.kill();
    assertThat(leased()).hasSize(many);
  }

  @Test
  void leasesOfOldRows_areStoredAgainInSteps() {
    int many = 5_000;
    List<PendingDelivery> leases = new ArrayList<>(lease(many));
    PendingDelivery last = leases.remove(many - 1);
    broker.engine.state.leaseLog.limitRows(-many);
    for (int i = 0; i < 20; i++) {
      extend(last, 60 * SECOND);
      CommitBatch batch = broker.engine.seal(broker.now);
      assertThat(batch.changes).hasSizeLessThan(1_100);
      BatchEncoder.write(batch, broker.store);
    }
    broker.kill();
    assertThat(leased()).hasSize(many);
    assertThat(storedRows()).isEqualTo(1);
  }
}
