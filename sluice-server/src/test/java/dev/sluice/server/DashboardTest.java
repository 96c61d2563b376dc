package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.proto.v1.DecideStreamResponse;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A server has the metrics that the dashboard queries and the documentation lists. */
@Timeout(60)
final class DashboardTest {
  private static final Pattern METRIC = Pattern.compile("\\b([a-z]+_\\w+)\\s*(?:\\{([^}]*)})?");
  private static final Pattern GROUPING = Pattern.compile("\\bby \\(([^)]*)\\)");
  private static final Pattern MATCHER = Pattern.compile("(\\w+)(=~?)\"([^\"]*)\"");
  private static final Pattern ROW =
      Pattern.compile("\\| `((?:sluice|token_bucket)_\\w+)` \\| (\\w+) \\| ([^|]*) \\| [^|]+ \\|");

  /** Those that Prometheus adds, and functions that look like metrics. */
  private static final Set<String> NOT_OURS = Set.of("instance");

  private static final Set<String> FUNCTIONS =
      Set.of("label_values", "__rate_interval", "histogram_quantile");

  private static final String CALL =
      "sluice_requests_seconds_count{code=\"OK\",method=\"sluice.v1.Queues/ListQueues\",protocol=\"grpc\"}";

  @TempDir private static Path dir;
  private static RedisServer redis;
  private static TestServer server;
  private static HttpProbe http;
  private static Scrape scrape;

  @BeforeAll
  static void traffic() throws IOException {
    redis = RedisServer.start();
    server =
        TestServer.start(
            ServerConfig.defaults(dir)
                .withGovernorFile(SeedBudget.FILE)
                .withRedis(RedisConfig.at(redis.uri()).withTimeout(RedisLimitsTest.PATIENCE)));
    server.awaitRedis();
    http = new HttpProbe(server.server.httpPort());
    messages();
    decisions();
    calls();
    Awaitility.await()
        .until(
            () -> {
              scrape = Scrape.of(http);
              return scrape.labels().containsKey("sluice_streams_ended_total")
                  && scrape.value(CALL) == 1;
            });
  }

  @AfterAll
  static void stop() {
    server.close();
    redis.close();
  }

  /** Every message of {@code q} fails twice and is a dead letter then, but for the first. */
  private static void messages() {
    http.post(
        "/v1/queues",
        "{\"name\":\"q\",\"config\":{\"max_attempts\":2,\"max_depth\":2,\"on_enqueue\":"
            + "\"function on_enqueue(m) return {} end\"}}");
    for (int i = 0; i < 3; i++) {
      http.post("/v1/queues/q/messages", "{\"payload\":\"x\"}");
    }
    http.post("/v1/queues/absent/messages", "{\"payload\":\"x\"}");
    http.post("/v1/queues", "{\"name\":\"typo\"}");
    http.post("/v1/queues/typo/messages", "{\"payload\":\"x\",\"throttle_keys\":{\"provdier\":1}}");
    settle("ack");
    settle("nack");
    settle("nack");
    assertThat(http.post("/v1/queues/q.dlq/redrive", "{}").json().toString())
        .isEqualTo("{\"redriven\":1}");
  }

  private static void settle(String action) {
    String id =
        http.post("/v1/queues/q/receive", "{\"wait_ms\":10000}")
            .json()
            .at("/deliveries/0/id")
            .asText();
    http.post(
        "/v1/queues/q/settle",
        "{\"settlements\":[{\"id\":\"%s\",\"action\":\"%s\"}]}".formatted(id, action));
  }

  private static void decisions() {
    http.put("/v1/limits/k", "{\"rate_per_second\":1,\"burst\":1}");
    http.post("/v1/decide", "{\"costs\":{\"k\":1}}");
  }

  private static void calls() {
    server.queues().listQueues(ListQueuesRequest.getDefaultInstance());
    LimitsGrpc.newStub(server.channel)
        .decideStream(new Recorded<DecideStreamResponse>())
        .onCompleted();
  }

  private static List<String> expressions() throws IOException {
    JsonNode dashboard =
        new ObjectMapper().readTree(Path.of("..", "deploy", "grafana", "sluice.json").toFile());
    List<String> all = new ArrayList<>(dashboard.findValuesAsText("expr"));
    dashboard.at("/templating/list").findValuesAsText("query").stream()
        .filter(each -> each.startsWith("label_values"))
        .forEach(all::add);
    return all;
  }

  @Test
  void dashboard_queriesExistingMetricsAndLabels() throws IOException {
    List<String> expressions = expressions();
    assertThat(expressions).hasSizeGreaterThan(20);
    for (String expression : expressions) {
      Set<String> grouping = new TreeSet<>();
      GROUPING
          .matcher(expression)
          .results()
          .forEach(by -> grouping.addAll(Arrays.asList(by.group(1).split(", *"))));
      String rest = GROUPING.matcher(expression).replaceAll("");
      List<MatchResult> metrics =
          METRIC
              .matcher(rest)
              .results()
              .filter(each -> !FUNCTIONS.contains(each.group(1)))
              .toList();
      assertThat(metrics).as(expression).isNotEmpty();
      for (MatchResult metric : metrics) {
        requireShown(expression, metric, grouping);
      }
    }
  }

  private static void requireShown(String expression, MatchResult metric, Set<String> grouping) {
    String name = metric.group(1);
    assertThat(scrape.labels()).as(expression).containsKey(name);
    Set<String> asked = new TreeSet<>(grouping);
    if (metric.group(2) != null) {
      MATCHER
          .matcher(metric.group(2))
          .results()
          .forEach(
              label -> {
                asked.add(label.group(1));
                if (label.group(2).equals("=")) {
                  assertThat(scrape.series().keySet())
                      .as(expression)
                      .anyMatch(each -> each.startsWith(name) && each.contains(label.group()));
                }
              });
    }
    asked.removeAll(NOT_OURS);
    assertThat(scrape.labels().get(name)).as(expression).containsAll(asked);
  }

  @Test
  void decisions_areCounted_byOutcomeAndPath() {
    assertThat(scrape.value("sluice_limits_decisions_total{outcome=\"granted\"}")).isEqualTo(1);
    assertThat(scrape.value("sluice_limits_redis_decisions_total{path=\"redis\"}")).isEqualTo(1);
    assertThat(scrape.value("sluice_limits_redis_available")).isEqualTo(1);
    assertThat(scrape.value("sluice_limits_redis_nodes")).isEqualTo(1);
  }

  @Test
  void everyMetric_hasAHelpText() {
    assertThat(scrape.types().keySet())
        .filteredOn(DashboardTest::isOurs)
        .allSatisfy(name -> assertThat(scrape.help()).containsKey(name));
  }

  @Test
  void everyTimer_isAHistogram() {
    assertThat(scrape.types()).doesNotContainValue("summary");
    assertThat(scrape.value("sluice_store_sync_seconds_bucket{le=\"+Inf\"}"))
        .isPositive()
        .isEqualTo(scrape.value("sluice_store_sync_seconds_count"));
  }

  @Test
  void store_reportsItsSizeAndTheFreeSpace() throws IOException {
    assertThat(scrape.value("sluice_store_size_bytes")).isPositive();
    assertThat(scrape.value("sluice_disk_free_bytes"))
        .isPositive()
        .isLessThanOrEqualTo((double) Files.getFileStore(dir).getTotalSpace());
  }

  @Test
  void documentation_listsExactlyTheMetrics() throws IOException {
    Map<String, String> documented = new TreeMap<>();
    ROW.matcher(Files.readString(Path.of("..", "docs", "operations.md")))
        .results()
        .forEach(
            row ->
                documented.put(row.group(1), row.group(2) + " " + row.group(3).replace("`", "")));
    assertThat(documented).isEqualTo(shown());
  }

  /** Type and labels by name; a timer is one, although it is several for Prometheus. */
  private static Map<String, String> shown() {
    Map<String, String> all = new TreeMap<>();
    scrape
        .types()
        .forEach(
            (name, type) -> {
              boolean timer = type.equals("histogram");
              String base = name.replaceAll("_max$", "");
              if (isOurs(name) && !isTimer(base, name)) {
                Set<String> labels = scrape.labels().get(timer ? name + "_count" : name);
                all.put(
                    name,
                    (timer ? "timer" : type)
                        + " "
                        + (labels.isEmpty() ? "none" : String.join(", ", labels)));
              }
            });
    return all;
  }

  private static boolean isOurs(String name) {
    return name.startsWith("sluice_") || name.startsWith("token_bucket_");
  }

  private static boolean isTimer(String base, String name) {
    return !base.equals(name) && "histogram".equals(scrape.types().get(base));
  }
}
