package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisCluster;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Budgets in a cluster of three nodes: each model has a slot of its own. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class ClusterBudgetsTest {
  private static final int MODELS = 6;

  private static BudgetConfig config() {
    Map<String, ModelBudget> models = new LinkedHashMap<>();
    for (int i = 0; i < MODELS; i++) {
      models.put("model-" + i, SeedBudget.budget(60, 10).maxConcurrentRequests(1).build());
    }
    // No node polls for minutes, and time frees no slot: only a notice delivers the grant.
    return RedisBudgetStoreTest.config(models, Duration.ofMinutes(10));
  }

  private static BudgetStore open(RedisCluster cluster) {
    String url =
        cluster.uris().stream()
            .map(uri -> uri.substring("redis://".length()))
            .collect(Collectors.joining(",", "redis-cluster://", ""));
    BudgetStore store =
        RedisBudgets.builder()
            .url(url)
            .timeout(Duration.ofSeconds(5))
            .build()
            .open(config(), BudgetListener.NONE);
    await()
        .atMost(Duration.ofSeconds(20))
        .ignoreExceptions()
        .until(() -> get(store.status()).models().size() == MODELS);
    return store;
  }

  /** Waits until both stores listen at any node of the cluster; earlier messages are lost. */
  private static void awaitListeners(RedisCluster cluster, String channel) {
    await()
        .until(
            () -> {
              long listeners = 0;
              for (int node = 0; node < cluster.uris().size(); node++) {
                Object answer = cluster.node(node).command("PUBSUB", "NUMSUB", channel);
                listeners += (Long) ((List<?>) Objects.requireNonNull(answer)).get(1);
              }
              return listeners == 2;
            });
  }

  @Test
  void models_onAllNodes_haveOneWaitingListEach() {
    try (RedisCluster cluster = RedisCluster.start();
        BudgetStore one = open(cluster);
        BudgetStore other = open(cluster)) {
      Set<Integer> nodes =
          config().models().keySet().stream()
              .map(model -> ModelKeys.of("token-governor:", model).all())
              .map(keys -> cluster.nodeOf(keys[0]).port())
              .collect(Collectors.toSet());
      assertThat(nodes).hasSizeGreaterThan(1);
      for (String model : config().models().keySet()) {
        awaitListeners(cluster, ModelKeys.of("token-governor:", model).channel());
        TokenDecision.Granted running =
            (TokenDecision.Granted)
                get(one.request(TokenRequest.of(model, 5).withPriorityClass("P1_user")));
        TokenDecision.Queued queued =
            (TokenDecision.Queued)
                get(other.request(TokenRequest.of(model, 5).withPriorityClass("P1_user")));
        CompletableFuture<Optional<TokenDecision>> waiter = other.await(queued.ticket());
        get(other.poll(queued.ticket()));
        get(one.settle(running.reservation(), 5));
        TokenDecision.Granted granted = (TokenDecision.Granted) get(waiter).orElseThrow();
        assertThat(get(one.poll(queued.ticket()))).contains(granted);
      }
    }
  }
}
