package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.Governor;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.redis.OutageMode;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs the fleet examples of docs/governor.md and docs/api/governor-redis.md. */
@Timeout(180)
class FleetReadmeTest {
  private static final Pattern RIGHTS = Pattern.compile("\\nACL (SETUSER .*)\\n");
  private static final String GUIDE = "../docs/governor.md";
  private static final String MODEL = "AX9F7E2B-sonnet-4-5";

  private final Path file = SeedBudget.FILE;
  private final List<Long> calls = new ArrayList<>();
  private final Queue<TokenDecision> started = new ConcurrentLinkedQueue<>();

  /** Repeated if a busy machine makes Redis late, because the request is then denied. */
  @Test
  void budgetsOfAFleet() throws IOException {
    while (calls.isEmpty()) {
      callOnce();
    }
    assertThat(calls).containsExactly(5_000L);
  }

  private void callOnce() throws IOException {
    try (RedisServer redis = RedisServer.start()) {
      String url = redis.uri();
      BudgetStore.Factory fleet = RedisBudgets.connect(url); // redis://localhost:6379
      try (Governor governor =
          Governor.builder(BudgetConfig.read(file)).store(fleet).build()) { // alike at every node
        TokenRequest request =
            TokenRequest.of("AX9F7E2B-sonnet-4-5", 5_000)
                .withPriorityClass("P1_user")
                .withIdempotencyKey("job-7");
        TokenDecision outcome = governor.blocking().request(request);
        if (outcome instanceof TokenDecision.Queued queued) { // one waiting list for all nodes
          outcome =
              governor.await(queued.ticket()).join().orElseThrow(); // at this node or any other
        }
        if (outcome instanceof TokenDecision.Granted granted) {
          governor
              .blocking()
              .settle(granted.reservation(), callTheModel(granted.requestedTokens()));
        }
      }
    }
  }

  @Test
  @SuppressWarnings("FutureReturnValueIgnored") // as on the page
  void exampleOfTheApiPage() {
    BudgetConfig config =
        BudgetConfig.builder().model("sonnet", SeedBudget.budget(60_000, 10_000).build()).build();
    try (RedisServer redis = RedisServer.start()) {
      String url = redis.uri();
      BudgetStore.Factory store =
          RedisBudgets.builder()
              .url(url) // redis://localhost:6379
              .outageMode(OutageMode.LOCAL)
              .expectedNodes(3)
              .build();
      try (Governor governor = Governor.builder(config).store(store).build()) {
        governor.acquire(TokenRequest.of("sonnet", 4_000)).thenAccept(decision -> start(decision));
        await().until(() -> started.size() == 1);
      }
    }
    assertThat(started.peek()).isInstanceOf(TokenDecision.class);
  }

  private void start(TokenDecision decision) {
    started.add(decision);
  }

  private long callTheModel(long maxTokens) {
    calls.add(maxTokens);
    return 3_200;
  }

  /** Returns the commands that Redis denied. */
  private static List<String> denied(RedisServer redis) {
    List<String> denied = new ArrayList<>();
    for (Object entry : (List<?>) redis.command("ACL", "LOG")) {
      List<?> fields = (List<?>) entry;
      denied.add(String.valueOf(fields.get(fields.indexOf("object") + 1)));
    }
    return denied;
  }

  /** Two nodes, so that messages are sent and received. */
  @Test
  void thePermissionsOfTheGuide_areEnough() throws IOException {
    Matcher rights = RIGHTS.matcher(Files.readString(Path.of(GUIDE)));
    assertThat(rights.find()).isTrue();
    try (RedisServer redis = RedisServer.start()) {
      List<String> words = new ArrayList<>(List.of("ACL"));
      words.addAll(List.of(rights.group(1).split(" ")));
      assertThat(redis.command(words.toArray(String[]::new))).isEqualTo("OK");
      String url = "redis://governor:PASSWORD@127.0.0.1:" + redis.port();
      BudgetStore.Factory fleet =
          RedisBudgets.builder().url(url).timeout(Duration.ofSeconds(20)).build();
      try (Governor here = Governor.builder(BudgetConfig.read(file)).store(fleet).build();
          Governor there = Governor.builder(BudgetConfig.read(file)).store(fleet).build()) {
        TokenRequest most =
            TokenRequest.of(MODEL, 200_000).withPriorityClass("P1_user").withTenant("a");
        TokenDecision.Granted first = (TokenDecision.Granted) here.blocking().request(most);
        TokenDecision.Queued queued =
            (TokenDecision.Queued)
                here.blocking().request(most.withTenant("b").withIdempotencyKey("k"));
        CompletableFuture<?> waiting = there.await(queued.ticket());
        there.blocking().explain(most);
        there.blocking().extend(first.reservation());
        here.blocking().cancel(((TokenDecision.Queued) here.blocking().request(most)).ticket());
        here.blocking().settle(first.reservation(), 0);
        assertThat(waiting.join().toString()).contains("Granted");
        here.blocking().reload(BudgetConfig.read(file));
        assertThat(here.blocking().status().models()).containsKey(MODEL);
      }
      assertThat(denied(redis)).isEmpty();
    }
  }
}
