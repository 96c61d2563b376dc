package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.until;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.internal.store.RedisBudgetStore;
import dev.sluice.redis.OutageListener;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.internal.connection.FleetConnection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/** A store that records its outages. */
final class OutageRig implements OutageListener, AutoCloseable {
  static final String P1 = "P1_user";

  /** Short enough for tests that wait for an outage, and long enough for a busy machine. */
  static final Duration TIMEOUT = Duration.ofMillis(500);

  /** The timeout of stores without outages on a slow machine. */
  static final Duration LONG_TIMEOUT = Duration.ofSeconds(20);

  final BudgetStore store;
  final List<String> events = new CopyOnWriteArrayList<>();
  final AtomicLong granted = new AtomicLong();
  volatile double share;

  private OutageRig(
      RedisBudgets.Builder budgets, boolean claims, BudgetConfig config, BudgetListener listener) {
    store = budgets.outageListener(this).build().open(config, listener);
    if (claims) {
      awaitReserved(store);
    }
  }

  /**
   * Waits until a node that Redis knows has a share: the first of a fleet has none for 1.5 seconds.
   */
  static void awaitReserved(BudgetStore store) {
    FleetConnection connection = ((RedisBudgetStore) store).connection();
    until("a share", () -> connection.share() > 0 || !connection.state().asksRedis());
  }

  private OutageRig(
      String uri, OutageMode policy, int nodes, BudgetConfig config, BudgetListener listener) {
    this(
        RedisBudgets.builder().url(uri).outageMode(policy).expectedNodes(nodes).timeout(TIMEOUT),
        policy == OutageMode.LOCAL,
        config,
        listener);
  }

  /** Opens a store that has no outage when the machine is slow. */
  static OutageRig withLongTimeout(String uri, int nodes, BudgetConfig config) {
    return new OutageRig(
        RedisBudgets.builder().url(uri).expectedNodes(nodes).timeout(LONG_TIMEOUT),
        true,
        config,
        BudgetListener.NONE);
  }

  static OutageRig open(String uri, OutageMode policy, BudgetConfig config) {
    return new OutageRig(uri, policy, 1, config, BudgetListener.NONE);
  }

  static OutageRig local(String uri, int nodes, BudgetConfig config) {
    return new OutageRig(uri, OutageMode.LOCAL, nodes, config, BudgetListener.NONE);
  }

  static OutageRig local(String uri, BudgetConfig config, BudgetListener listener) {
    return new OutageRig(uri, OutageMode.LOCAL, 1, config, listener);
  }

  static OutageRig local(RedisBudgets.Builder budgets, BudgetConfig config) {
    return new OutageRig(budgets.timeout(TIMEOUT), true, config, BudgetListener.NONE);
  }

  @Override
  public void outageStarted(String cause, double part) {
    share = part;
    events.add("lost");
  }

  @Override
  public void outageEnded(Duration away, long tokens) {
    granted.addAndGet(tokens);
    events.add("returned");
  }

  void awaitLost() {
    until("the loss", () -> isLast("lost"));
  }

  /** Waits until this node's share decides. */
  void awaitShare() {
    awaitLost();
    // Without a share this call fails.
    until(
        "the share",
        () -> store.explain(request(1)).handle((status, failure) -> failure == null).join());
  }

  void awaitReturned() {
    until("the return", () -> isLast("returned"));
  }

  boolean isLast(String event) {
    return !events.isEmpty() && events.get(events.size() - 1).equals(event);
  }

  static TokenRequest request(long tokens) {
    return TokenRequest.of("sonnet", tokens).withPriorityClass(P1);
  }

  TokenDecision ask(TokenRequest request) {
    return get(store.request(request));
  }

  TokenDecision ask(long tokens) {
    return ask(request(tokens));
  }

  TokenDecision.Granted granted(long tokens) {
    return (TokenDecision.Granted) ask(tokens);
  }

  /** Waits until a request is granted. */
  TokenDecision.Granted grantedSoon(TokenRequest request) {
    TokenDecision[] outcome = new TokenDecision[1];
    until(
        "a grant",
        () -> {
          outcome[0] = get(store.tryAcquire(request)).orElse(null);
          return outcome[0] instanceof TokenDecision.Granted;
        });
    return (TokenDecision.Granted) outcome[0];
  }

  TokenDecision.Granted grantedSoon(long tokens) {
    return grantedSoon(request(tokens));
  }

  TokenDecision.Reason refused(long tokens) {
    return ((TokenDecision.Denied) ask(tokens)).reason();
  }

  long available() {
    return get(store.status()).models().get("sonnet").available();
  }

  int running() {
    return get(store.status()).models().get("sonnet").running();
  }

  long consumed() {
    return get(store.status()).models().get("sonnet").counts().tokensConsumed();
  }

  @Override
  public void close() {
    store.close();
  }
}
