package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.Cost;
import dev.sluice.proto.v1.DecideRequest;
import dev.sluice.proto.v1.DecideStreamRequest;
import dev.sluice.proto.v1.DecideStreamResponse;
import dev.sluice.proto.v1.Decision;
import dev.sluice.proto.v1.ErrorCode;
import dev.sluice.proto.v1.Limit;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.ListLimitsRequest;
import dev.sluice.proto.v1.Outcome;
import dev.sluice.proto.v1.RemoveLimitRequest;
import dev.sluice.proto.v1.SetLimitRequest;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code sluice.v1.Limits}, over a real socket. */
@Timeout(60)
class LimitServiceTest {
  @TempDir private Path dir;
  TestServer server;

  @BeforeEach
  void start() throws IOException {
    server = TestServer.start(config(ServerConfig.defaults(dir)));
  }

  /** Further configuration of the server. */
  ServerConfig config(ServerConfig defaults) {
    return defaults;
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private void set(String key, double rate, double burst) {
    server
        .limits()
        .setLimit(
            SetLimitRequest.newBuilder()
                .setLimit(Limit.newBuilder().setName(key).setRatePerSecond(rate).setBurst(burst))
                .build());
  }

  private static DecideRequest request(String... keys) {
    DecideRequest.Builder request = DecideRequest.newBuilder();
    for (String key : keys) {
      request.addCosts(Cost.newBuilder().setLimitName(key));
    }
    return request.build();
  }

  private Decision decide(DecideRequest request) {
    return server.limits().decide(request).getDecision();
  }

  @Test
  void decide_grantsTheBurst_thenNamesTheLimit() {
    set("mail", 0.001, 2);
    assertThat(decide(request("mail")).getOutcome()).isEqualTo(Outcome.GRANTED);
    assertThat(decide(request("mail")).getOutcome()).isEqualTo(Outcome.GRANTED);
    Decision denied = decide(request("mail"));
    assertThat(denied.getOutcome()).isEqualTo(Outcome.DENIED);
    assertThat(denied.getLimitName()).isEqualTo("mail");
    assertThat(denied.getRetryAfterNs()).isBetween(900_000_000_000L, 1_000_000_000_000L);
  }

  @Test
  void severalLimits_areTakenTogetherOrNotAtAll() {
    set("a", 0, 5);
    set("b", 0, 1);
    assertThat(decide(request("a", "b")).getOutcome()).isEqualTo(Outcome.GRANTED);
    Decision depleted = decide(request("a", "b"));
    assertThat(depleted.getOutcome()).isEqualTo(Outcome.DEPLETED);
    assertThat(depleted.getLimitName()).isEqualTo("b");
    DecideRequest four =
        DecideRequest.newBuilder()
            .addCosts(Cost.newBuilder().setLimitName("a").setTokens(4))
            .build();
    assertThat(decide(four).getOutcome()).isEqualTo(Outcome.GRANTED);
  }

  @Test
  void moreThanTheBurst_isImpossible() {
    set("a", 1, 5);
    DecideRequest six =
        DecideRequest.newBuilder()
            .addCosts(Cost.newBuilder().setLimitName("a").setTokens(6))
            .build();
    Decision never = decide(six);
    assertThat(never.getOutcome()).isEqualTo(Outcome.IMPOSSIBLE);
    assertThat(never.getCapacity()).isEqualTo(5);
  }

  @Test
  void peek_takesNothing() {
    set("a", 0, 1);
    DecideRequest dry = request("a").toBuilder().setPeek(true).build();
    assertThat(decide(dry).getOutcome()).isEqualTo(Outcome.GRANTED);
    assertThat(decide(dry).getOutcome()).isEqualTo(Outcome.GRANTED);
    assertThat(decide(request("a")).getOutcome()).isEqualTo(Outcome.GRANTED);
    assertThat(decide(dry).getOutcome()).isEqualTo(Outcome.DEPLETED);
  }

  @Test
  void template_givesEveryNameItsOwnBucket_untilItIsRemoved() {
    set("tenant:*", 0, 1);
    assertThat(decide(request("tenant:a")).getOutcome()).isEqualTo(Outcome.GRANTED);
    assertThat(decide(request("tenant:b")).getOutcome()).isEqualTo(Outcome.GRANTED);
    assertThat(decide(request("tenant:a")).getOutcome()).isEqualTo(Outcome.DEPLETED);
    var limits = server.limits().listLimits(ListLimitsRequest.getDefaultInstance());
    assertThat(limits.getLimitsList()).extracting(Limit::getName).containsExactly("tenant:*");
    RemoveLimitRequest remove = RemoveLimitRequest.newBuilder().setName("tenant:*").build();
    server.limits().removeLimit(remove);
    assertRefused(() -> decide(request("tenant:a")), Status.Code.NOT_FOUND, "tenant:a");
    assertRefused(() -> server.limits().removeLimit(remove), Status.Code.NOT_FOUND, "tenant:*");
  }

  @Test
  void badInput_isRefused_withAClearMessage() {
    set("a", 1, 1);
    assertRefused(
        () -> decide(request()),
        Status.Code.INVALID_ARGUMENT,
        "costs must name at least one limit");
    assertRefused(() -> decide(request("")), Status.Code.INVALID_ARGUMENT, "limit name must have");
    assertRefused(() -> decide(request("none")), Status.Code.NOT_FOUND, "none");
    assertRefused(() -> decide(request("a", "a")), Status.Code.INVALID_ARGUMENT, "each limit once");
    DecideRequest negative =
        DecideRequest.newBuilder()
            .addCosts(Cost.newBuilder().setLimitName("a").setTokens(-1))
            .build();
    assertRefused(() -> decide(negative), Status.Code.INVALID_ARGUMENT, "-1");
    assertRefused(() -> set("a", Double.NaN, 1), Status.Code.INVALID_ARGUMENT, "NaN");
    assertRefused(() -> set("a", -1, 1), Status.Code.INVALID_ARGUMENT, "-1");
    assertRefused(() -> set("a*b*", 1, 1), Status.Code.INVALID_ARGUMENT, "a*b*");
    assertRefused(() -> set(".", 1, 1), Status.Code.INVALID_ARGUMENT, "must not be . or ..");
    assertRefused(
        () -> set("..", 1, 1), Status.Code.INVALID_ARGUMENT, "paths of URLs, but was \"..\"");
    assertRefused(() -> set("", 1, 1), Status.Code.INVALID_ARGUMENT, "limit name must have");
    assertThat(decide(request("a")).getOutcome()).isEqualTo(Outcome.GRANTED);
  }

  @Test
  void stream_decidesInOrder_andGrantsNoMoreThanTheBurst() throws Exception {
    set("a", 0, 100);
    Recorded<DecideStreamResponse> answers = new Recorded<>();
    StreamObserver<DecideStreamRequest> requests =
        LimitsGrpc.newStub(server.channel).decideStream(answers);
    for (int batch = 0; batch < 50; batch++) {
      requests.onNext(
          DecideStreamRequest.newBuilder()
              .setBatch(batch)
              .addAllRequests(Collections.nCopies(4, request("a")))
              .addRequests(request("none"))
              .build());
    }
    requests.onCompleted();
    int granted = 0;
    for (int batch = 0; batch < 50; batch++) {
      DecideStreamResponse answer = answers.next();
      assertThat(answer.getBatch()).isEqualTo(batch);
      assertThat(answer.getResults(4).getError().getCode()).isEqualTo(ErrorCode.NOT_FOUND);
      granted +=
          (int)
              IntStream.range(0, 4)
                  .filter(i -> answer.getResults(i).getDecision().getOutcome() == Outcome.GRANTED)
                  .count();
    }
    assertThat(answers.end().isOk()).isTrue();
    assertThat(granted).isEqualTo(100);
  }

  @Test
  void hugeBatch_endsTheStream() throws Exception {
    set("a", 0, 100);
    Recorded<DecideStreamResponse> answers = new Recorded<>();
    LimitsGrpc.newStub(server.channel)
        .decideStream(answers)
        .onNext(
            DecideStreamRequest.newBuilder()
                .addAllRequests(Collections.nCopies(1_025, request("a")))
                .build());
    assertThat(answers.end().getDescription()).contains("1024");
  }
}
