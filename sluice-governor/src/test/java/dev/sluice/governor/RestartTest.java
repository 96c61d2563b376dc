package dev.sluice.governor;

import static dev.sluice.governor.WaitingListFixture.MINUTE;
import static dev.sluice.governor.WaitingListFixture.SECOND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.governor.internal.local.LocalBudgetStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Levels and reservations go on after the process has ended, at any moment. */
@Tag("any-jdk")
class RestartTest {
  static final String P0 = "P0_clinical";
  static final String P1 = "P1_user";
  private static final ModelBudget BUDGET =
      SeedBudget.budget(240_000, 300_000)
          .maxConcurrentRequests(3)
          .tenants(Map.of("t", new ModelBudget.TenantBudget(Limit.perMinute(60_000, 100_000), 1)))
          .build();

  @TempDir private Path temp;
  private int images;

  static BudgetStore open(Path directory, VirtualTimer timer) {
    return open(directory, timer, BudgetConfig.builder().models(Map.of("m", BUDGET)).build());
  }

  private static BudgetStore open(Path directory, VirtualTimer timer, BudgetConfig config) {
    return LocalBudgetStore.inDirectory(directory, timer).open(config, BudgetListener.NONE);
  }

  private static TokenDecision ask(BudgetStore store, long tokens, String priority) {
    return store.request(TokenRequest.of("m", tokens).withPriorityClass(priority)).join();
  }

  static GovernorStatus.Model status(BudgetStore store) {
    return store.status().join().models().get("m");
  }

  private Path crash(Path directory) {
    return crash(directory, temp.resolve("image" + images++));
  }

  /** Copies the files that a process leaves if it ends now, into a new folder. */
  static Path crash(Path directory, Path image) {
    try (Stream<Path> files = Files.list(directory)) {
      Files.createDirectory(image);
      for (Path each : files.toList()) {
        Files.copy(each, image.resolve(each.getFileName()));
      }
      return image;
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  @Test
  void restartWithWaiters_refillsNothing_andLosesNoReservation() {
    Path directory = temp.resolve("governor");
    VirtualTimer timer = new VirtualTimer(77 * SECOND);
    BudgetStore store = open(directory, timer);
    TokenDecision.Granted first = (TokenDecision.Granted) ask(store, 200_000, P0);
    TokenRequest keyed =
        TokenRequest.of("m", 90_000).withPriorityClass(P1).withTenant("t").withIdempotencyKey("k");
    TokenDecision.Granted second = (TokenDecision.Granted) store.request(keyed).join();
    timer.advance(SECOND);
    assertThat(store.extend(second.reservation()).join()).isTrue();
    TokenDecision.Queued waits = (TokenDecision.Queued) ask(store, 50_000, P1);

    VirtualTimer later = new VirtualTimer(timer.nanoTime() + SECOND);
    try (BudgetStore again = open(crash(directory), later)) {
      assertThat(status(again).available()).isEqualTo(10_000 + 2 * 4_000);
      assertThat(status(again).running()).isEqualTo(2);
      assertThat(again.explain(keyed.withIdempotencyKey("other")).join().dimensions())
          .contains(
              new TokenExplanation.DimensionStatus(
                  BudgetDimension.TENANT,
                  100_000,
                  12_000,
                  90_000,
                  Optional.of(Duration.ofSeconds(78))));
      // The place in line is gone; the grants are not.
      assertThat(again.poll(waits.ticket()).join()).isEmpty();
      assertThat(again.request(keyed).join()).isEqualTo(second);
      assertThat(ask(again, 50_000, P1)).isInstanceOf(TokenDecision.Queued.class);
      TokenSettlement settled = again.settle(first.reservation(), 150_000).join().orElseThrow();
      assertThat(settled.refundedTokens()).isEqualTo(50_000);
      assertThat(again.settle(first.reservation(), 150_000).join()).isEmpty();
      // The slot of the other comes back when its life is over, counted from when it was extended.
      later.advance(10 * MINUTE - SECOND - 1);
      assertThat(again.extend(second.reservation()).join()).isTrue();
    }
  }

  @Test
  void restartedMachine_beginsWithEmptyBuckets() throws Exception {
    Path directory = temp.resolve("governor");
    VirtualTimer timer = new VirtualTimer(1_000 * SECOND);
    String reservation;
    try (BudgetStore store = open(directory, timer)) {
      reservation = ((TokenDecision.Granted) ask(store, 1_000, P0)).reservation();
    }
    // Its clock begins again.
    VirtualTimer early = new VirtualTimer(10 * SECOND);
    try (BudgetStore store = open(directory, early)) {
      assertThat(status(store).available()).isZero();
      early.advance(SECOND);
      assertThat(status(store).available()).isEqualTo(4_000);
      assertThat(store.settle(reservation, 0).join()).isPresent();
      TokenRequest next = TokenRequest.of("m", 2_000).withPriorityClass(P1).withTenant("t");
      assertThat(store.explain(next).join().dimensions())
          .contains(
              new TokenExplanation.DimensionStatus(
                  BudgetDimension.TENANT,
                  100_000,
                  1_000,
                  2_000,
                  Optional.of(Duration.ofSeconds(1))));
    }
  }

  @Test
  void tornEnd_isCutOff_andEmptiesTheBuckets() throws Exception {
    Path directory = temp.resolve("governor");
    VirtualTimer timer = new VirtualTimer();
    try (BudgetStore store = open(directory, timer)) {
      ask(store, 1_000, P0);
    }
    Path journal = journalIn(directory);
    byte[] whole = Files.readAllBytes(journal);
    for (int cut = 1; cut < 60; cut++) {
      Path image = crash(directory);
      Files.write(journalIn(image), java.util.Arrays.copyOf(whole, whole.length - cut));
      try (BudgetStore store = open(image, new VirtualTimer())) {
        assertThat(status(store).available()).as("cut by %d", cut).isZero();
      }
    }
  }

  @Test
  void damage_isNoticed() throws Exception {
    Path directory = temp.resolve("governor");
    try (BudgetStore store = open(directory, new VirtualTimer())) {
      for (int i = 0; i < 3; i++) {
        ask(store, 1_000, P0);
      }
    }
    byte[] whole = Files.readAllBytes(journalIn(directory));
    int last = 0;
    for (int at = 0; at < whole.length; at += 8 + ByteBuffer.wrap(whole).getInt(at)) {
      last = at;
    }
    for (int at = 0; at < whole.length; at++) {
      byte[] flipped = whole.clone();
      flipped[at] ^= 4;
      Path image = crash(directory);
      Files.write(journalIn(image), flipped);
      if (at < last) {
        try (BudgetStore store = open(image, new VirtualTimer())) {
          assertThat(store.closedModels().get("m"))
              .as("flipped at %d", at)
              .contains("is damaged at byte");
          assertThatThrownBy(() -> ask(store, 1, P0)).hasMessageContaining("model m is closed");
        }
      } else {
        // As if it had not been written to its end: nothing is taken for granted.
        try (BudgetStore store = open(image, new VirtualTimer())) {
          assertThat(status(store).available()).as("flipped at %d", at).isZero();
        }
      }
    }
  }

  @Test
  void reloadToLess_thenARestart_isNoDebtOfHours() {
    Path directory = temp.resolve("governor");
    VirtualTimer timer = new VirtualTimer();
    ModelBudget less = SeedBudget.budget(24_000, 30_000).build();
    BudgetConfig lower = BudgetConfig.builder().models(Map.of("m", less)).build();
    try (BudgetStore store = open(directory, timer)) {
      for (int i = 0; i < 600; i++) {
        TokenDecision.Granted granted = (TokenDecision.Granted) ask(store, 20_000, P0);
        store.settle(granted.reservation(), 20_000).join();
        timer.advance(5 * SECOND);
      }
      Path image = crash(directory);
      store.reload(lower).join();
      long before = status(store).available();
      try (BudgetStore again = open(crash(directory), new VirtualTimer(timer.nanoTime()), lower)) {
        assertThat(status(again).available()).isEqualTo(before);
      }
      // Another file at the start: the level is unknown, and it begins empty.
      try (BudgetStore again = open(image, new VirtualTimer(timer.nanoTime()), lower)) {
        assertThat(status(again).available()).isZero();
      }
    }
  }

  @Test
  void reloadToAShorterLife_holdsAfterARestart() {
    Path directory = temp.resolve("governor");
    VirtualTimer timer = new VirtualTimer();
    WaitingListConfig brief =
        WaitingListConfig.builder().reservationTimeout(Duration.ofSeconds(10)).build();
    BudgetConfig shorter =
        BudgetConfig.builder().models(Map.of("m", BUDGET)).waitingList(brief).build();
    try (BudgetStore store = open(directory, timer)) {
      ask(store, 1, P0);
      store.reload(shorter).join();
      timer.advance(SECOND);
      ask(store, 1, P0);
    }
    try (BudgetStore again = open(directory, timer, shorter)) {
      assertThat(status(again).running()).isEqualTo(2);
      timer.advance(11 * SECOND);
      assertThat(status(again).running()).isZero();
    }
  }

  @Test
  void grantFromBeforeAMachineRestart_isNotRefunded() throws Exception {
    Path directory = temp.resolve("governor");
    VirtualTimer timer = new VirtualTimer();
    String reservation;
    try (BudgetStore store = open(directory, timer)) {
      reservation = ((TokenDecision.Granted) ask(store, 300_000, P0)).reservation();
      Path image = crash(directory);
      timer.advance(75 * SECOND);
      ask(store, 300_000, P0); // of which nothing reached the disk
      Files.write(journalIn(image), new byte[5], StandardOpenOption.APPEND);
      try (BudgetStore again = open(image, new VirtualTimer(timer.nanoTime()))) {
        assertThat(again.settle(reservation, 0).join().orElseThrow().refundedTokens()).isZero();
        assertThat(status(again).available()).isZero();
      }
    }
  }

  @Test
  void unknownTenant_beginsEmptyAfterTwoRestarts() {
    Path directory = temp.resolve("governor");
    TokenRequest all = TokenRequest.of("m", 100_000).withPriorityClass(P1).withTenant("t");
    BudgetConfig other =
        BudgetConfig.builder()
            .models(Map.of("m", BUDGET.toBuilder().maxConcurrentRequests(5).build()))
            .build();
    VirtualTimer timer = new VirtualTimer();
    try (BudgetStore store = open(directory, timer)) {
      assertThat(store.request(all).join()).isInstanceOf(TokenDecision.Granted.class);
    }
    open(directory, timer, other).close();
    String reservation;
    try (BudgetStore again = open(directory, timer, other)) {
      assertThat(again.explain(all).join().outcome()).isEqualTo(TokenExplanation.Outcome.QUEUED);
      timer.advance(100 * SECOND);
      TokenDecision.Granted granted = (TokenDecision.Granted) again.request(all).join();
      reservation = granted.reservation();
    }
    try (BudgetStore again = open(directory, timer, other)) {
      assertThat(again.explain(all).join().outcome()).isEqualTo(TokenExplanation.Outcome.QUEUED);
      again.settle(reservation, 0).join();
      assertThat(again.explain(all).join().outcome()).isEqualTo(TokenExplanation.Outcome.GRANTED);
    }
  }

  @Test
  void reservationOfBudgetsThatBeganAnew_isNotRefundedThere() {
    Path directory = temp.resolve("governor");
    TokenRequest half = TokenRequest.of("m", 50_000).withPriorityClass(P1).withTenant("t");
    BudgetConfig other =
        BudgetConfig.builder()
            .models(Map.of("m", BUDGET.toBuilder().maxConcurrentRequests(5).build()))
            .build();
    VirtualTimer timer = new VirtualTimer();
    String old;
    try (BudgetStore store = open(directory, timer)) {
      old = ((TokenDecision.Granted) store.request(half).join()).reservation();
    }
    try (BudgetStore again = open(directory, timer, other)) {
      timer.advance(100 * SECOND);
      again.request(half).join();
      again.request(half).join();
    }
    try (BudgetStore again = open(directory, timer, other)) {
      again.settle(old, 0).join();
      assertThat(again.explain(half).join().outcome()).isEqualTo(TokenExplanation.Outcome.QUEUED);
    }
  }

  @Test
  void reloadThatCannotOpenAModel_changesNothing() throws Exception {
    Path directory = temp.resolve("governor");
    Map<String, ModelBudget> both = new LinkedHashMap<>();
    both.put("m", SeedBudget.budget(1, 1).build());
    both.put("n", BUDGET);
    try (BudgetStore store =
        open(
            directory,
            new VirtualTimer(),
            BudgetConfig.builder().models(Map.of("n", BUDGET)).build())) {
      store.request(TokenRequest.of("n", 1).withPriorityClass(P0)).join();
      store.request(TokenRequest.of("n", 1).withPriorityClass(P0)).join();
    }
    Path journal = journalIn(directory);
    byte[] bytes = Files.readAllBytes(journal);
    bytes[20] ^= 1;
    Files.write(journal, bytes);
    try (BudgetStore store = open(directory, new VirtualTimer())) {
      assertThatThrownBy(() -> store.reload(BudgetConfig.builder().models(both).build()).join())
          .hasMessageContaining("is damaged");
      assertThat(status(store).capacity()).isEqualTo(300_000);
    }
  }

  private static Path journalIn(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.filter(each -> each.toString().endsWith(".journal")).findFirst().orElseThrow();
    }
  }

  @Test
  void directoryInUse_isRefused() {
    Path directory = temp.resolve("governor");
    try (BudgetStore store = open(directory, new VirtualTimer())) {
      assertThatThrownBy(() -> open(directory, new VirtualTimer()))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("is in use by another governor");
      assertThat(status(store).available()).isEqualTo(300_000);
    }
    open(directory, new VirtualTimer()).close();
  }

  @Test
  void journal_staysSmall() throws Exception {
    Path directory = temp.resolve("governor");
    VirtualTimer timer = new VirtualTimer();
    long largest = 0;
    try (BudgetStore store = open(directory, timer)) {
      for (int i = 0; i < 60_000; i++) {
        TokenDecision.Granted granted = (TokenDecision.Granted) ask(store, 1, P0);
        store.settle(granted.reservation(), 1).join();
        largest = Math.max(largest, i % 1_000 == 0 ? Files.size(journalIn(directory)) : 0);
        timer.advance(SECOND / 1_000);
      }
    }
    assertThat(largest).isBetween(1L << 20, 5L << 20);
    try (BudgetStore store = open(directory, timer)) {
      assertThat(status(store).available()).isBetween(299_990L, 300_000L);
    }
  }

  @Test
  void grantThatCannotBeWritten_isNotMade() throws Exception {
    Path directory = temp.resolve("governor");
    VirtualTimer timer = new VirtualTimer();
    BudgetStore store = open(directory, timer);
    ask(store, 1_000, P0);
    store.request(TokenRequest.of("m", 100_000).withPriorityClass(P0).withTenant("t")).join();
    String ticket =
        ((TokenDecision.Queued)
                store
                    .request(TokenRequest.of("m", 100_000).withPriorityClass(P0).withTenant("t"))
                    .join())
            .ticket();
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(ticket);
    // Nothing can replace a file that is a directory with something in it.
    Path next = Path.of(journalIn(directory) + ".new");
    Files.createDirectory(next);
    Files.writeString(next.resolve("in the way"), "", StandardOpenOption.CREATE_NEW);
    assertThatThrownBy(
            () -> {
              for (int i = 0; i < 60_000; i++) {
                TokenDecision.Granted granted = (TokenDecision.Granted) ask(store, 1, P0);
                store.settle(granted.reservation(), 1).join();
              }
            })
        .hasCauseInstanceOf(UncheckedIOException.class);
    assertThatThrownBy(() -> ask(store, 1, P0))
        .hasCauseInstanceOf(IllegalStateException.class)
        .hasMessageContaining("model m is closed");
    assertThat(waiter).isCompletedExceptionally();
    assertThat(store.status().join().models()).isEmpty();
    store.reopen();
    assertThat(store.closedModels()).containsOnlyKeys("m");
    // When there is room again, it opens by itself; a reload would do so too.
    Files.delete(next.resolve("in the way"));
    Files.delete(next);
    store.reopen();
    assertThat(store.closedModels()).isEmpty();
    assertThat(status(store).running()).isGreaterThanOrEqualTo(2);
    store.close();
  }
}
