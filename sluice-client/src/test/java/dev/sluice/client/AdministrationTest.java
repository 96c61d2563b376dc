package dev.sluice.client;

import static dev.sluice.client.Failures.assertFails;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.server.ListenConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server that asks for keys, and what can be administered with which. */
final class AdministrationTest {
  private static final String BOOTSTRAP = "bootstrap-for-tests";

  @TempDir Path dir;
  private SluiceServer server;
  private SluiceClient client;
  private AdminClient admin;

  @BeforeEach
  void start() throws Exception {
    server =
        SluiceServer.start(
            ServerConfig.defaults(dir)
                .withListen(ListenConfig.ANYWHERE)
                .withBootstrapKey(BOOTSTRAP));
    client = with(BOOTSTRAP);
    admin = client.admin();
  }

  @AfterEach
  void stop() {
    client.close();
    server.close();
  }

  private SluiceClient with(String key) {
    return SluiceClient.builder("127.0.0.1", server.grpcPort()).apiKey(key).build();
  }

  @Test
  void config_setGetListRemove() {
    admin.setConfig("weight.b", "2");
    admin.setConfig("weight.a", "1");
    admin.setConfig("other", "x");
    assertThat(admin.config("weight.a")).isEqualTo("1");
    assertThat(admin.listConfig("weight."))
        .containsExactly(Map.entry("weight.a", "1"), Map.entry("weight.b", "2"));
    admin.removeConfig("weight.a");
    assertFails(Code.NOT_FOUND, () -> admin.config("weight.a"));
    assertThat(admin.listConfig("")).containsOnlyKeys("other", "weight.b");
    assertFails(Code.INVALID_ARGUMENT, () -> admin.setConfig("", "x"));
  }

  @Test
  void throttles_setListRemove() {
    admin.setThrottle("provider", new Limit.Rate(5, 10));
    assertThat(admin.throttles()).containsExactly(new ThrottleRate("provider", 5, 10, 10));
    assertFails(Code.INVALID_ARGUMENT, () -> admin.setThrottle("", new Limit.Rate(1, 10)));
    assertThatThrownBy(() -> admin.setThrottle("provider", Limit.per(0, Duration.ZERO)))
        .isInstanceOf(IllegalArgumentException.class);
    admin.removeThrottle("provider");
    assertThat(admin.throttles()).isEmpty();
  }

  @Test
  void keys_allowTheirPermissionsUntilRevoked() {
    client.createQueue("mail", QueueConfig.defaults());
    Instant end = Instant.ofEpochMilli(System.currentTimeMillis()).plus(Duration.ofHours(1));
    Permission produce = new Permission("produce", "mail");
    CreatedApiKey created =
        admin.createApiKey(NewApiKey.of("billing", List.of(produce)).withExpiry(end));
    ApiKey known = admin.apiKey(created.id());
    assertThat(known.name()).isEqualTo("billing");
    assertThat(known.permissions()).containsExactly(produce);
    assertThat(known.expiresAt()).contains(end);
    assertThat(known.superadmin()).isFalse();
    assertThat(created.toString()).doesNotContain(created.secret());

    try (SluiceClient producer = with(created.secret())) {
      assertThat(producer.enqueue("mail", Message.of("x"))).isNotEmpty();
      assertFails(Code.PERMISSION_DENIED, () -> producer.receive("mail", 1, Duration.ZERO));
      assertFails(Code.PERMISSION_DENIED, () -> producer.admin().apiKeys());
      assertFails(Code.PERMISSION_DENIED, () -> producer.admin().listConfig(""));
      admin.setPermissions(created.id(), List.of(new Permission("consume", "*")));
      assertFails(Code.PERMISSION_DENIED, () -> producer.enqueue("mail", Message.of("y")));
      assertThat(producer.receive("mail", 1, Duration.ofSeconds(20))).hasSize(1);
      admin.revokeApiKey(created.id());
      assertFails(Code.UNAUTHENTICATED, () -> producer.receive("mail", 1, Duration.ZERO));
    }
    assertThat(admin.apiKeys()).isEmpty();
    assertFails(Code.NOT_FOUND, () -> admin.apiKey(created.id())).contains(created.id());
  }

  @Test
  void keys_superadmin_allowsEverything() {
    CreatedApiKey created = admin.createApiKey(NewApiKey.of("root", List.of()).asSuperadmin());
    try (SluiceClient root = with(created.secret())) {
      root.createQueue("q", QueueConfig.defaults());
      assertThat(root.admin().apiKey(created.id()).superadmin()).isTrue();
    }
    assertFails(
        Code.INVALID_ARGUMENT,
        () -> admin.createApiKey(NewApiKey.of("k", List.of(new Permission("fly", "*")))));
  }

  @Test
  void serverInfo_needsAKeyAndNoPermission() {
    CreatedApiKey none = admin.createApiKey(NewApiKey.of("none", List.of()));
    try (SluiceClient nobody = with(none.secret())) {
      ServerInfo info = nobody.admin().serverInfo();
      assertThat(info.version()).matches("\\d+\\.\\d+\\..*");
      assertThat(info.startedAt()).isBeforeOrEqualTo(Instant.now());
    }
    try (SluiceClient wrong = with("wrong")) {
      assertFails(Code.UNAUTHENTICATED, () -> wrong.admin().apiKeys());
    }
  }

  @Test
  void receive_holdsUntilSettledByItsLease() {
    client.createQueue("q", QueueConfig.builder().maxAttempts(1).build());
    assertThat(client.receive("q", 1, Duration.ofMillis(1))).isEmpty();
    client.enqueue("q", Message.of("one"));
    client.enqueue("q", Message.of("two"));
    List<Delivery> held = new ArrayList<>(client.receive("q", 1, Duration.ofSeconds(20)));
    held.addAll(client.receiveAsync("q", 1, Duration.ofSeconds(20)).join());
    assertThat(held).extracting(Delivery::text).containsExactly("one", "two");
    Delivery one = held.get(0);
    client.leaseHandle("q", one.id(), one.leaseToken()).extend(Duration.ofMinutes(5)).join();
    assertFails(Code.NOT_FOUND, client.leaseHandle("q", one.id(), held.get(1).leaseToken()).ack());
    client.leaseHandle("q", one.id(), "").ack().join();
    assertFails(Code.NOT_FOUND, one.ack());
    held.get(1).release().join();
    Delivery again = client.receive("q", 1, Duration.ofSeconds(20)).get(0);
    assertThat(again.attempts()).isZero();
    client.leaseHandle("q", again.id(), again.leaseToken()).nack("no").join();
    assertThat(client.browse("q.dlq", 1).get(0).text()).isEqualTo("two");
  }
}
