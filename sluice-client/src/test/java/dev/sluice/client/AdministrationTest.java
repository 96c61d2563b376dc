package dev.sluice.client;

import static dev.sluice.client.Failures.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.server.Listen;
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
  private Administration admin;

  @BeforeEach
  void start() throws Exception {
    server =
        SluiceServer.start(
            ServerConfig.defaults(dir).withListen(Listen.ANYWHERE).withBootstrapKey(BOOTSTRAP));
    client = with(BOOTSTRAP);
    admin = client.administration();
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
    admin.setThrottle("provider", 5, 10);
    assertThat(admin.throttles()).containsExactly(new ThrottleRate("provider", 5, 10, 10));
    assertFails(Code.INVALID_ARGUMENT, () -> admin.setThrottle("provider", -1, 10));
    admin.removeThrottle("provider");
    assertThat(admin.throttles()).isEmpty();
  }

  @Test
  void keys_allowWhatTheySayUntilRevoked() {
    client.createQueue("mail", QueueSettings.defaults());
    Instant end = Instant.ofEpochMilli(System.currentTimeMillis()).plus(Duration.ofHours(1));
    KeyPermission produce = new KeyPermission("produce", "mail");
    CreatedKey created = admin.createKey(NewKey.of("billing", List.of(produce)).withExpiry(end));
    ApiKey known = admin.key(created.id());
    assertThat(known.name()).isEqualTo("billing");
    assertThat(known.permissions()).containsExactly(produce);
    assertThat(known.expiresAt()).contains(end);
    assertThat(known.superadmin()).isFalse();
    assertThat(created.toString()).doesNotContain(created.key());

    try (SluiceClient producer = with(created.key())) {
      assertThat(producer.enqueue("mail", OutgoingMessage.of("x"))).isNotEmpty();
      assertFails(Code.PERMISSION_DENIED, () -> producer.receive("mail", 1, Duration.ZERO));
      assertFails(Code.PERMISSION_DENIED, () -> producer.administration().keys());
      assertFails(Code.PERMISSION_DENIED, () -> producer.administration().listConfig(""));
      admin.setPermissions(created.id(), List.of(new KeyPermission("consume", "*")));
      assertFails(Code.PERMISSION_DENIED, () -> producer.enqueue("mail", OutgoingMessage.of("y")));
      assertThat(producer.receive("mail", 1, Duration.ofSeconds(20))).hasSize(1);
      admin.revokeKey(created.id());
      assertFails(Code.UNAUTHENTICATED, () -> producer.receive("mail", 1, Duration.ZERO));
    }
    assertThat(admin.keys()).isEmpty();
    assertFails(Code.NOT_FOUND, () -> admin.key(created.id())).contains(created.id());
  }

  @Test
  void keys_superadmin_allowsEverything() {
    CreatedKey created = admin.createKey(NewKey.of("root", List.of()).asSuperadmin());
    try (SluiceClient root = with(created.key())) {
      root.createQueue("q", QueueSettings.defaults());
      assertThat(root.administration().key(created.id()).superadmin()).isTrue();
    }
    assertFails(
        Code.INVALID_ARGUMENT,
        () -> admin.createKey(NewKey.of("k", List.of(new KeyPermission("fly", "*")))));
  }

  @Test
  void serverInfo_needsAKeyAndNoPermission() {
    CreatedKey none = admin.createKey(NewKey.of("none", List.of()));
    try (SluiceClient nobody = with(none.key())) {
      ServerInfo info = nobody.administration().serverInfo();
      assertThat(info.version()).matches("\\d+\\.\\d+\\..*");
      assertThat(info.startedAt()).isBeforeOrEqualTo(Instant.now());
    }
    try (SluiceClient wrong = with("wrong")) {
      assertFails(Code.UNAUTHENTICATED, () -> wrong.administration().keys());
    }
  }

  @Test
  void receive_holdsUntilSettledByItsLease() {
    client.createQueue("q", QueueSettings.defaults().withMaxAttempts(1));
    assertThat(client.receive("q", 1, Duration.ofMillis(1))).isEmpty();
    client.enqueue("q", OutgoingMessage.of("one"));
    client.enqueue("q", OutgoingMessage.of("two"));
    List<ReceivedMessage> held = new ArrayList<>(client.receive("q", 1, Duration.ofSeconds(20)));
    held.addAll(client.receiveAsync("q", 1, Duration.ofSeconds(20)).join());
    assertThat(held).extracting(ReceivedMessage::text).containsExactly("one", "two");
    ReceivedMessage one = held.get(0);
    client.lease("q", one.id(), one.lease()).extend(Duration.ofMinutes(5)).join();
    assertFails(Code.NOT_FOUND, client.lease("q", one.id(), held.get(1).lease()).ack());
    client.lease("q", one.id(), "").ack().join();
    assertFails(Code.NOT_FOUND, one.ack());
    held.get(1).release().join();
    ReceivedMessage again = client.receive("q", 1, Duration.ofSeconds(20)).get(0);
    assertThat(again.attempts()).isZero();
    client.lease("q", again.id(), again.lease()).nack("no").join();
    assertThat(client.peek("q.dlq", 1).get(0).text()).isEqualTo("two");
  }
}
