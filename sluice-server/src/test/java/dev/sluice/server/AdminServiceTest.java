package dev.sluice.server;

import static dev.sluice.server.KeyedServer.codeOf;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.AdminGrpc;
import dev.sluice.proto.v1.GetConfigRequest;
import dev.sluice.proto.v1.ListConfigRequest;
import dev.sluice.proto.v1.ListConfigResponse;
import dev.sluice.proto.v1.ListThrottlesRequest;
import dev.sluice.proto.v1.ListThrottlesResponse;
import dev.sluice.proto.v1.RemoveConfigRequest;
import dev.sluice.proto.v1.RemoveThrottleRequest;
import dev.sluice.proto.v1.SetConfigRequest;
import dev.sluice.proto.v1.SetThrottleRequest;
import io.grpc.Status.Code;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class AdminServiceTest {
  @TempDir Path dir;
  private TestServer server;
  private AdminGrpc.AdminBlockingStub admin;

  @BeforeEach
  void start() throws Exception {
    server = TestServer.start(dir);
    admin = AdminGrpc.newBlockingStub(server.channel);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private void set(String key, String value) {
    SetConfigRequest request = SetConfigRequest.newBuilder().setKey(key).setValue(value).build();
    assertThat(admin.setConfig(request)).isNotNull();
  }

  private String get(String key) {
    return admin.getConfig(GetConfigRequest.newBuilder().setKey(key).build()).getValue();
  }

  private void remove(String key) {
    assertThat(admin.removeConfig(RemoveConfigRequest.newBuilder().setKey(key).build()))
        .isNotNull();
  }

  private List<String> list(String prefix) {
    return admin
        .listConfig(ListConfigRequest.newBuilder().setPrefix(prefix).build())
        .getEntriesList()
        .stream()
        .map(ListConfigResponse.Entry::getKey)
        .toList();
  }

  @Test
  void config_isSetReadListedAndRemoved() {
    set("b.2", "two");
    set("b.1", "one");
    set("a", "");
    set("b", "plain");
    set("c", "last");
    assertThat(get("b.1")).isEqualTo("one");
    assertThat(get("a")).isEmpty();
    assertThat(list("")).containsExactly("a", "b", "b.1", "b.2", "c");
    assertThat(list("b.")).containsExactly("b.1", "b.2");
    assertThat(list("d")).isEmpty();
    remove("b.1");
    assertThat(codeOf(() -> get("b.1"))).isEqualTo(Code.NOT_FOUND);
    assertThat(codeOf(() -> remove("b.1"))).isEqualTo(Code.NOT_FOUND);
  }

  @Test
  void config_badInput_isRefused() {
    assertThat(codeOf(() -> set("", "v"))).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> set("x".repeat(257), "v"))).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> set("k", "x".repeat(1_025)))).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> set("throttle.t", "fast"))).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> get("x".repeat(100_000)))).isEqualTo(Code.NOT_FOUND);
    assertThat(list("")).isEmpty();
  }

  private void setThrottle(String key, double rate, double burst) {
    var request =
        SetThrottleRequest.newBuilder().setKey(key).setRatePerSecond(rate).setBurst(burst);
    assertThat(admin.setThrottle(request.build())).isNotNull();
  }

  private void removeThrottle(String key) {
    assertThat(admin.removeThrottle(RemoveThrottleRequest.newBuilder().setKey(key).build()))
        .isNotNull();
  }

  private List<ListThrottlesResponse.Throttle> throttles() {
    return admin.listThrottles(ListThrottlesRequest.getDefaultInstance()).getThrottlesList();
  }

  @Test
  void throttle_isSetListedAndRemoved() {
    setThrottle("t", 2.5, 10);
    assertThat(throttles())
        .containsExactly(
            ListThrottlesResponse.Throttle.newBuilder()
                .setKey("t")
                .setRatePerSecond(2.5)
                .setBurst(10)
                .setTokens(10)
                .build());
    removeThrottle("t");
    assertThat(throttles()).isEmpty();
    assertThat(codeOf(() -> removeThrottle("t"))).isEqualTo(Code.NOT_FOUND);
  }

  @Test
  void throttle_badInput_isRefused() {
    assertThat(codeOf(() -> setThrottle("", 1, 1))).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> setThrottle(".", 1, 1))).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> set("..", "x"))).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> setThrottle("t", -1, 1))).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> setThrottle("t", Double.NaN, 1))).isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> setThrottle("t", 1, Double.POSITIVE_INFINITY)))
        .isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(throttles()).isEmpty();
  }
}
