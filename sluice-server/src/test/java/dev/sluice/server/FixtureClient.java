package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Speaks to a server over HTTP with an API key, and lists all that the server keeps. */
final class FixtureClient {
  private final HttpProbe http;
  private final String key;

  FixtureClient(int port, String key) {
    this(new HttpProbe(port), key);
  }

  private FixtureClient(HttpProbe http, String key) {
    this.http = http;
    this.key = key;
  }

  FixtureClient as(String otherKey) {
    return new FixtureClient(http, otherKey);
  }

  HttpProbe.Reply call(String method, String path, String body) {
    return http.send(
        http.request(path)
            .header("Authorization", "Bearer " + key)
            .method(method, BodyPublishers.ofString(body)));
  }

  /** The answer to a call that succeeds. */
  JsonNode ask(String method, String path, String body) {
    HttpProbe.Reply reply = call(method, path, body);
    assertThat(reply.status())
        .as("%s %s: %s", method, path, reply.response().body())
        .isBetween(200, 299);
    return reply.json();
  }

  String metrics() {
    return call("GET", "/metrics", "").response().body();
  }

  JsonNode get(String path) {
    return ask("GET", path, "");
  }

  /** Queues, messages, throttle keys, configuration, limits, keys and models, a line each. */
  List<String> contents() {
    List<String> lines = new ArrayList<>();
    for (JsonNode each : get("/v1/queues").get("queues")) {
      addQueue(lines, each.get("name").asText());
    }
    only("throttle", "/v1/throttles", "throttles", "key", "rate_per_second", "burst")
        .forEach(lines::add);
    only("config", "/v1/config", "entries", "key", "value").forEach(lines::add);
    addShared(lines);
    for (JsonNode each : get("/v1/api-keys").get("api_keys")) {
      lines.add("key " + each);
    }
    return lines;
  }

  /** The state that can also be in Redis: limits and the models of the governor. */
  List<String> sharedContents() {
    List<String> lines = new ArrayList<>();
    addShared(lines);
    return lines;
  }

  private void addShared(List<String> lines) {
    only("limit", "/v1/limits", "limits", "name", "rate_per_second", "burst").forEach(lines::add);
    get("/v1/governor/status")
        .get("buckets")
        .properties()
        .forEach(
            model ->
                lines.add(
                    "model %s capacity=%d running=%d waiting=%s"
                        .formatted(
                            model.getKey(),
                            model.getValue().get("capacity").asLong(),
                            model.getValue().get("running").asLong(),
                            model.getValue().get("queueLengths"))));
  }

  private void addQueue(List<String> lines, String name) {
    JsonNode queue = get("/v1/queues/" + name);
    JsonNode stats = queue.get("stats");
    lines.add(
        "queue %s depth=%d in_flight=%d delayed=%d config=%s"
            .formatted(
                name,
                stats.get("depth").asLong(),
                stats.get("in_flight").asLong(),
                stats.get("delayed").asLong(),
                queue.get("config")));
    for (JsonNode each : get("/v1/queues/" + name + "/browse?max_messages=1000").get("messages")) {
      lines.add("message " + name + " " + each);
    }
  }

  /** Those fields of each; the others change with time. */
  private Stream<String> only(String what, String path, String list, String... fields) {
    List<String> lines = new ArrayList<>();
    for (JsonNode each : get(path).get(list)) {
      lines.add(what + " " + ((ObjectNode) each).retain(fields));
    }
    return lines.stream().sorted();
  }
}
