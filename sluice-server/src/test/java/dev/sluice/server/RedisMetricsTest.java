package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a server with Redis has to show is what the documentation lists. */
@Timeout(60)
final class RedisMetricsTest {
  private static final Pattern ROW =
      Pattern.compile("\\| `(sluice_limits_redis_\\w+)` \\| (\\w+) \\| ([^|]*) \\| [^|]+ \\|");

  @TempDir private Path dir;

  private static Map<String, String> documented() throws IOException {
    Map<String, String> all = new TreeMap<>();
    ROW.matcher(Files.readString(Path.of("..", "docs", "operations.md")))
        .results()
        .forEach(row -> all.put(row.group(1), row.group(2) + " " + row.group(3).replace("`", "")));
    return all;
  }

  private static Map<String, String> shown(Scrape scrape) {
    Map<String, String> all = new TreeMap<>();
    scrape
        .types()
        .forEach(
            (name, type) -> {
              Set<String> labels = scrape.labels().getOrDefault(name, Set.of());
              if (name.startsWith("sluice_limits_redis_")) {
                all.put(name, type + " " + (labels.isEmpty() ? "none" : String.join(", ", labels)));
              }
            });
    return all;
  }

  @Test
  void documentation_listsExactlyWhatThereIs_andDecisionsCount() throws IOException {
    try (RedisServer redis = RedisServer.start();
        TestServer server =
            TestServer.start(
                ServerConfig.defaults(dir)
                    .withRedis(
                        ServerRedis.at(redis.uri()).withTimeout(RedisLimitsTest.PATIENCE)))) {
      server.awaitRedis();
      HttpProbe http = new HttpProbe(server.server.httpPort());
      http.put("/v1/limits/k", "{\"rate_per_second\":1,\"burst\":1}");
      http.post("/v1/decide", "{\"costs\":{\"k\":1}}");
      Scrape scrape = Scrape.of(http);
      assertThat(shown(scrape)).isEqualTo(documented()).hasSize(6);
      assertThat(scrape.value("sluice_limits_redis_decisions_total{path=\"exact\"}")).isEqualTo(1);
      assertThat(scrape.value("sluice_limits_redis_nodes")).isEqualTo(1);
      assertThat(scrape.value("sluice_limit_decisions_total{outcome=\"granted\"}")).isEqualTo(1);
    }
  }
}
