package dev.sluice.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.testkit.JavaProcess;
import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * Writes a data directory and a Redis dump with something of everything in them; {@code
 * src/test/resources/fixtures/README.md} says what, and how to run this.
 */
final class FixtureWriter {
  private static final String BUDGETS =
      """
      {"models": {
         "slow": {"target_tpm": 60, "burst_tpm": 1000, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
         "one": {"target_tpm": 60000, "burst_tpm": 100000, "concurrency": 1, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}}},
       "governor": {"max_waiting": 5, "ticket_idle_timeout_ms": 86400000, "reservation_timeout_ms": 86400000}}
      """;

  private static final String ON_ENQUEUE =
      "function on_enqueue(msg) return { fairness_key = msg.headers.tenant or 'none' } end";
  private static final String ON_FAILURE = "function on_failure(msg) return { action = 'dlq' } end";

  /**
   * When the data directory is written. Time never goes back for the broker and the governor, so
   * that it goes on from here, and no lease, delay or reservation is over, whenever the fixture is
   * opened.
   */
  private static final Instant FUTURE = Instant.parse("2100-01-01T00:00:00Z");

  private final Map<String, String> facts = new TreeMap<>();
  private final FixtureClient client;

  private FixtureWriter(FixtureClient client) {
    this.client = client;
  }

  /** Writes both into a folder. */
  static void write(Path out, Path work) throws IOException {
    Files.createDirectories(out);
    Map<String, String> facts = new TreeMap<>();
    writeData(work.resolve("data"), out, facts);
    writeDump(work.resolve("redis"), out, facts);
    Files.writeString(out.resolve(FixtureServer.BUDGETS), BUDGETS);
    List<String> lines = new ArrayList<>();
    facts.forEach((name, value) -> lines.add(name + "=" + value));
    Files.write(out.resolve("facts.properties"), lines);
  }

  private static void writeData(Path work, Path out, Map<String, String> facts) throws IOException {
    prepare(work);
    Duration ahead = Duration.between(Instant.now(), FUTURE);
    try (JavaProcess server = FixtureServer.startAhead(ahead, work)) {
      FixtureWriter writer = new FixtureWriter(FixtureServer.client(server));
      writer.setUp();
      writer.queues();
      writer.deadLetters();
      writer.leaseAndDedupe();
      writer.keys();
      writer.reserve();
      facts.putAll(writer.facts);
      FixtureServer.stop(server);
    }
    zip(work, out.resolve("data.zip"));
    // Lists the state after a restart, not that of this process.
    try (SluiceServer server = FixtureServer.start(work, "")) {
      Files.write(out.resolve("data.txt"), FixtureServer.client(server).contents());
    }
  }

  private static void writeDump(Path work, Path out, Map<String, String> facts) throws IOException {
    Path here = prepare(work.resolve("here"));
    Path there = prepare(work.resolve("there"));
    try (RedisServer redis = RedisServer.start();
        SluiceServer one = FixtureServer.start(here, redis.uri());
        SluiceServer two = FixtureServer.start(there, redis.uri())) {
      FixtureWriter writer = writer(one);
      writer.limits();
      writer.reserve();
      String first =
          writer
              .ask("POST", "/v1/governor/requests", request("one", 10))
              .get("reservation")
              .asText();
      facts.put("redis.reservation.one", first);
      JsonNode queued =
          writer(two).client.call("POST", "/v1/governor/requests", request("one", 20)).json();
      facts.put("redis.ticket", queued.get("ticket").asText());
      await().until(() -> writer(two).client.get("/v1/limits").get("limits").size() == 3);
      for (FixtureWriter each : List.of(writer, writer(two))) {
        for (int i = 0; i < 10; i++) {
          each.ask("POST", "/v1/decide", "{\"costs\":{\"api\":1,\"tenant:a\":1}}");
          each.ask("POST", "/v1/decide", "{\"costs\":{\"fast\":1}}");
        }
      }
      writer.facts.forEach((name, value) -> facts.put("redis." + name, value));
      facts.put("redis.writtenAt", Instant.now().toString());
      Files.write(out.resolve("redis.rdb"), redis.dump());
      List<String> lines = redisKeys(redis);
      lines.addAll(writer.client.sharedContents());
      Files.write(out.resolve("redis.txt"), lines);
    }
  }

  /** Type and name of each key in Redis. */
  static List<String> redisKeys(RedisServer redis) {
    List<String> lines = new ArrayList<>();
    for (Object key : (List<?>) redis.command("KEYS", "*")) {
      lines.add("redis " + redis.command("TYPE", key.toString()) + " " + key);
    }
    Collections.sort(lines);
    return lines;
  }

  private static Path prepare(Path folder) throws IOException {
    Files.createDirectories(folder);
    Files.writeString(folder.resolve(FixtureServer.BUDGETS), BUDGETS);
    return folder;
  }

  private static FixtureWriter writer(SluiceServer server) {
    return new FixtureWriter(FixtureServer.client(server));
  }

  private JsonNode ask(String method, String path, String body) {
    return client.ask(method, path, body);
  }

  private void setUp() {
    limits();
    ask("PUT", "/v1/throttles/provider", "{\"rate_per_second\":5,\"burst\":10}");
    ask("PUT", "/v1/throttles/closed", "{\"rate_per_second\":0,\"burst\":0}");
    ask("PUT", "/v1/config/region", "{\"value\":\"eu\"}");
    ask("PUT", "/v1/config/tenant.a", "{\"value\":\"gold\"}");
  }

  private void limits() {
    ask("PUT", "/v1/limits/api", "{\"rate_per_second\":100,\"burst\":200}");
    ask("PUT", "/v1/limits/fast", "{\"rate_per_second\":100000,\"burst\":100000}");
    ask("PUT", "/v1/limits/tenant:*", "{\"rate_per_second\":0.5,\"burst\":30}");
  }

  private void queue(String name, String config) {
    ask("POST", "/v1/queues", "{\"name\":\"%s\",\"config\":%s}".formatted(name, config));
  }

  private String send(String queue, String message) {
    return ask("POST", "/v1/queues/" + queue + "/messages", message).at("/ids/0").asText();
  }

  private JsonNode receive(String queue) {
    return ask("POST", "/v1/queues/" + queue + "/receive", "{\"wait_ms\":10000}")
        .at("/deliveries/0");
  }

  private void queues() {
    queue(
        "orders",
        "{\"lease_timeout_ms\":43200000,\"max_attempts\":2,\"dedupe_window_ms\":86400000,\"max_depth\":1000,"
            + "\"max_in_flight_per_key\":3,\"on_enqueue\":\""
            + ON_ENQUEUE
            + "\"}");
    queue(
        "mail",
        "{\"lease_timeout_ms\":43200000,\"durability\":\"INTERVAL\",\"strict_order\":true,\"max_depth_per_key\":100}");
    queue("reports", "{\"on_failure\":\"" + ON_FAILURE + "\"}");
    queue("empty", "{}");
  }

  /** One for each reason, and a message that failed once. */
  private void deadLetters() {
    send("orders", "{\"payload\":\"fails twice\",\"headers\":{\"tenant\":\"a\"}}");
    fail("orders", "first");
    fail("orders", "second");
    send("reports", "{\"payload\":\"the script gives up\"}");
    fail("reports", "broken");
    send("mail", "{\"payload\":\"too late\",\"time_to_live_ms\":1}");
    for (String queue : List.of("orders", "reports", "mail")) {
      await()
          .until(() -> client.get("/v1/queues/" + queue + ".dlq").at("/stats/depth").asLong() == 1);
    }
    send("orders", "{\"payload\":\"failed once\",\"headers\":{\"tenant\":\"b\"}}");
    fail("orders", "first");
  }

  private void fail(String queue, String error) {
    JsonNode delivery = receive(queue);
    ask(
        "POST",
        "/v1/queues/" + queue + "/settle",
        "{\"settlements\":[{\"id\":\"%s\",\"action\":\"nack\",\"error\":\"%s\"}]}"
            .formatted(delivery.get("id").asText(), error));
  }

  private void leaseAndDedupe() {
    send(
        "mail",
        "{\"payload\":\"leased\",\"fairness_key\":\"a\",\"weight\":3,\"throttle_keys\":{\"provider\":1}}");
    JsonNode leased = receive("mail");
    facts.put("leased.id", leased.get("id").asText());
    facts.put("leased.token", leased.get("lease_token").asText());
    send(
        "mail",
        "{\"payload\":\"ready\",\"fairness_key\":\"b\",\"priority\":2,\"headers\":{\"to\":\"x\"}}");
    send("mail", "{\"payload_base64\":\"AAECAwT/\",\"fairness_key\":\"c\"}");
    send("mail", "{\"payload\":\"later\",\"fairness_key\":\"b\",\"delay_ms\":36000000}");
    send(
        "mail",
        "{\"payload\":\"throttled\",\"fairness_key\":\"d\",\"throttle_keys\":{\"closed\":1,\"provider\":2}}");
    send("mail", "{\"payload\":\"ends\",\"fairness_key\":\"e\",\"time_to_live_ms\":36000000}");
    facts.put("dedupe.id", send("orders", "{\"payload\":\"once\",\"dedupe_id\":\"order-1\"}"));
  }

  private void keys() {
    facts.put(
        "key.producer",
        key("producer", "\"permissions\":[{\"kind\":\"produce\",\"pattern\":\"orders\"}]"));
    key("all", "\"superadmin\":true");
    key(
        "expires",
        "\"expires_at_ms\":5000000000000,\"permissions\":[{\"kind\":\"admin\",\"pattern\":\"team.*\"},"
            + "{\"kind\":\"limit\",\"pattern\":\"tenant:*\"},{\"kind\":\"governor\",\"pattern\":\"model:slow\"}]");
    String revoked = key("revoked", "\"superadmin\":true");
    facts.put("key.revoked", revoked);
    client
        .get("/v1/api-keys")
        .get("api_keys")
        .forEach(
            each -> {
              if (each.get("name").asText().equals("revoked")) {
                client.call("DELETE", "/v1/api-keys/" + each.get("id").asText(), "");
              }
            });
  }

  private String key(String name, String rest) {
    return ask("POST", "/v1/api-keys", "{\"name\":\"%s\",%s}".formatted(name, rest))
        .get("secret")
        .asText();
  }

  /** A reservation that is settled and one that is not. */
  private void reserve() {
    String settled =
        ask("POST", "/v1/governor/requests", request("slow", 300)).get("reservation").asText();
    ask("POST", "/v1/governor/reservations/" + settled + "/settle", "{\"actualTokens\":200}");
    JsonNode open = ask("POST", "/v1/governor/requests", request("slow", 100));
    facts.put("reservation", open.get("reservation").asText());
  }

  private static String request(String model, long tokens) {
    return "{\"model\":\"%s\",\"tokens\":%d,\"tenant\":\"a\"}".formatted(model, tokens);
  }

  /** Without the logs of RocksDB, and always in the same order. */
  private static void zip(Path folder, Path file) throws IOException {
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file), UTF_8);
        Stream<Path> files = Files.walk(folder)) {
      for (Path each : files.filter(Files::isRegularFile).sorted().toList()) {
        String name = folder.relativize(each).toString();
        if (!each.getFileName().toString().startsWith("LOG")) {
          zip.putNextEntry(new ZipEntry(name));
          zip.write(Files.readAllBytes(each));
          zip.closeEntry();
        }
      }
    }
  }
}
