package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Properties;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Data that past versions wrote is opened as it was, with leases, delays and reservations that are
 * not over. {@code -Dsluice.fixture.write=FOLDER} writes a fixture first.
 */
@Tag("any-jdk")
@Timeout(240)
final class FixtureTest {
  private static final Path FIXTURES = Path.of("src", "test", "resources", "fixtures");

  @TempDir private Path dir;
  private final Properties facts = new Properties();

  @BeforeAll
  static void writeIfAsked(@TempDir Path work) throws IOException {
    String folder = System.getProperty("sluice.fixture.write", "");
    if (!folder.isEmpty()) {
      FixtureWriter.write(Path.of(folder), work);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = "0.1")
  void dataDirectory_ofAnEarlierVersion_opensWithAllItsData(String version) throws IOException {
    Path fixture = read(version);
    unzip(fixture.resolve("data.zip"));
    try (SluiceServer server = FixtureServer.start(dir, "")) {
      FixtureClient client = FixtureServer.client(server);
      assertThat(client.contents()).isEqualTo(Files.readAllLines(fixture.resolve("data.txt")));
      assertKeysHold(client);
      assertThat(client.get("/v1/queues/orders").get("hook_throttle_keys").toString())
          .as("hooks of earlier versions may name every throttle key")
          .isEqualTo("[\"*\"]");
      assertMessagesGoOn(client);
      assertReservationIsSettled(client, "reservation", 100);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = "0.1")
  void redisDumpOfAnEarlierLayout_keepsTheRules_andStartsWithoutTokens(String version)
      throws IOException {
    Path fixture = read(version);
    Files.writeString(
        dir.resolve(FixtureServer.BUDGETS), Files.readString(fixture.resolve("token-budget.json")));
    List<String> written = Files.readAllLines(fixture.resolve("redis.txt"));
    try (RedisServer redis = redis(fixture)) {
      assertThat(FixtureWriter.redisKeys(redis)).isEqualTo(startingWith("redis ", written));
      redis.clockOffset(since("redis.writtenAt"));
      try (SluiceServer server = FixtureServer.start(dir, redis.uri())) {
        FixtureClient client = FixtureServer.client(server);
        await().until(() -> !client.metrics().contains("redis_available 0.0"));
        List<String> found = client.sharedContents();
        assertThat(startingWith("limit ", found)).isEqualTo(startingWith("limit ", written));
        assertThat(startingWith("model ", found)).allMatch(line -> line.contains("running=0"));
        JsonNode model = client.get("/v1/governor/status").get("buckets").get("slow");
        assertThat(model.get("available").asLong()).isLessThan(model.get("capacity").asLong());
      }
    }
  }

  private static List<String> startingWith(String prefix, List<String> lines) {
    return lines.stream().filter(line -> line.startsWith(prefix)).toList();
  }

  /** Its clock stands where it stood when the dump was written, so that no key expires. */
  private RedisServer redis(Path fixture) {
    RedisServer redis =
        RedisServer.builder()
            .dump(fixture.resolve("redis.rdb"))
            .clockOffset(since("redis.writtenAt").minusMinutes(1))
            .start();
    redis.standAt(Instant.parse(facts.getProperty("redis.writtenAt")));
    return redis;
  }

  /** The ticket is first in line, and is granted once the reservation before it is settled. */
  private Path read(String version) throws IOException {
    Path fixture = FIXTURES.resolve(version);
    try (Reader reader = Files.newBufferedReader(fixture.resolve("facts.properties"))) {
      facts.load(reader);
    }
    return fixture;
  }

  private Duration since(String fact) {
    return Duration.between(Instant.now(), Instant.parse(facts.getProperty(fact)));
  }

  private void unzip(Path file) throws IOException {
    try (ZipInputStream zip = new ZipInputStream(Files.newInputStream(file))) {
      for (ZipEntry each = zip.getNextEntry(); each != null; each = zip.getNextEntry()) {
        Path path = dir.resolve(each.getName());
        Files.createDirectories(path.getParent());
        Files.copy(zip, path);
      }
    }
  }

  private void assertKeysHold(FixtureClient client) {
    FixtureClient producer = client.as(facts.getProperty("key.producer"));
    assertThat(producer.call("POST", "/v1/queues/mail/messages", "{\"payload\":\"x\"}").status())
        .isEqualTo(403);
    FixtureClient revoked = client.as(facts.getProperty("key.revoked"));
    assertThat(revoked.call("GET", "/v1/queues", "").status()).isEqualTo(401);
  }

  /** A known dedupe id stores nothing, and the consumer of then acknowledges what it has leased. */
  private void assertMessagesGoOn(FixtureClient client) {
    JsonNode sent =
        client
            .as(facts.getProperty("key.producer"))
            .ask(
                "POST",
                "/v1/queues/orders/messages",
                "{\"payload\":\"x\",\"dedupe_id\":\"order-1\"}");
    assertThat(sent.at("/ids/0").asText()).isEqualTo(facts.getProperty("dedupe.id"));
    JsonNode settled =
        client.ask(
            "POST",
            "/v1/queues/mail/settle",
            "{\"settlements\":[{\"id\":\"%s\",\"lease_token\":\"%s\",\"action\":\"ack\"}]}"
                .formatted(facts.getProperty("leased.id"), facts.getProperty("leased.token")));
    assertThat(settled.at("/results/0/error").isMissingNode()).isTrue();
    String dead = client.get("/v1/queues/orders.dlq/browse").at("/messages/0/id").asText();
    assertThat(client.ask("POST", "/v1/queues/orders.dlq/redrive", "{}").get("redriven").asInt())
        .isEqualTo(1);
    assertThat(client.get("/v1/queues/orders/browse").findValuesAsText("id"))
        .as("ids, among them that of the dead letter as it was seen")
        .contains(dead);
  }

  private void assertReservationIsSettled(FixtureClient client, String name, long reserved) {
    JsonNode settled =
        client.ask(
            "POST",
            "/v1/governor/reservations/" + facts.getProperty(name) + "/settle",
            "{\"actualTokens\":1}");
    assertThat(settled.get("reservedTokens").asLong()).isEqualTo(reserved);
    assertThat(settled.get("tenant").asText()).isEqualTo("a");
  }
}
