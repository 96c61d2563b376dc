package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.proto.v1.GovernorGrpc;
import dev.sluice.proto.v1.RequestTokensRequest;
import dev.sluice.proto.v1.TokenDecision;
import dev.sluice.proto.v1.TokenRequest;
import dev.sluice.testkit.redis.RedisServer;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A server with budgets for tests: {@code slow}, of which hardly anything accrues, {@code one},
 * which has one request at a time, and {@code shared}, which keeps most of it for the classes above
 * the last.
 */
final class GovernedServer implements AutoCloseable {
  static final String BUDGETS =
      """
      {"models": {
         "slow": {"target_tpm": 60, "burst_tpm": 1000, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
         "one": {"target_tpm": 60000, "burst_tpm": 1000000, "concurrency": 1, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
         "scaled": {"target_tpm": 240000, "burst_tpm": 300000, "allocation": "scale", "retry_max": 1,
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 0.7, "P2_batch": 0.4}},
         "shared": {"target_tpm": 240000, "burst_tpm": 300000,
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 0.4}}},
       "governor": {"max_waiting": 5, "ticket_idle_timeout_ms": %d, "reservation_timeout_ms": 600000}}
      """;

  final Path file;
  final SluiceServer server;
  final HttpProbe http;
  final ManagedChannel channel;

  GovernedServer(Path dir, long patienceMs) throws IOException {
    this(dir, patienceMs, null);
  }

  /** With budgets in a Redis that has nothing else, and that no stall of this machine ends. */
  static GovernedServer onEmpty(RedisServer redis, Path dir, long patienceMs) throws IOException {
    redis.command("FLUSHALL");
    return new GovernedServer(
        dir, patienceMs, RedisConfig.at(redis.uri()).withTimeout(RedisLimitsTest.PATIENCE));
  }

  /** With budgets in Redis, if there is one. */
  GovernedServer(Path dir, long patienceMs, @Nullable RedisConfig redis) throws IOException {
    file = dir.resolve("token-budget.json");
    Files.writeString(file, BUDGETS.formatted(patienceMs));
    ServerConfig config =
        ServerConfig.defaults(dir.resolve("data"))
            .withListen(ListenConfig.ANYWHERE)
            .withGovernorFile(file);
    server = SluiceServer.start(redis == null ? config : config.withRedis(redis));
    http = new HttpProbe(server.httpPort());
    channel = NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
  }

  GovernorGrpc.GovernorBlockingStub grpc() {
    return GovernorGrpc.newBlockingStub(channel);
  }

  GovernorGrpc.GovernorStub streams() {
    return GovernorGrpc.newStub(channel);
  }

  static String ask(String model, long tokens) {
    return "{\"model\":\"%s\",\"tokens\":%d,\"priority\":\"P1_user\"}".formatted(model, tokens);
  }

  HttpProbe.Reply request(String model, long tokens) {
    return http.post("/v1/governor/requests", ask(model, tokens));
  }

  TokenDecision requestGrpc(String model, long tokens) {
    TokenRequest wanted =
        TokenRequest.newBuilder().setModel(model).setTokens(tokens).setPriority("P1_user").build();
    return grpc()
        .requestTokens(RequestTokensRequest.newBuilder().setRequest(wanted).build())
        .getDecision();
  }

  HttpProbe.Reply settle(String reservation, long actual) {
    return http.post(
        "/v1/governor/reservations/%s/settle".formatted(reservation),
        "{\"actualTokens\":%d}".formatted(actual));
  }

  JsonNode status(String model) {
    return http.get("/v1/governor/status").json().get("buckets").get(model);
  }

  /** The only place that {@code one} has; its reservation. */
  String takeTheOne() {
    HttpProbe.Reply granted = request("one", 10);
    assertThat(granted.status()).isEqualTo(200);
    return granted.json().get("reservation").asText();
  }

  /** Queues a request and returns the path of its ticket. */
  String ticket(String model, long tokens) {
    HttpProbe.Reply queued = request(model, tokens);
    assertThat(queued.status()).as(queued.response().body()).isEqualTo(429);
    return "/v1/governor/tickets/" + queued.json().get("ticket").asText();
  }

  /** Queues a request behind {@link #takeTheOne} and returns the path of its ticket. */
  String ticketBehindOne() {
    takeTheOne();
    return ticket("one", 20);
  }

  /** Until so many calls wait for tickets. */
  void awaitWaiting(int calls) {
    await().until(() -> server.ticketWaits() == calls);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.close();
  }
}
