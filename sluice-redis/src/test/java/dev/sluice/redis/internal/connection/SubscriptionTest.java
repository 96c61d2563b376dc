package dev.sluice.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisCluster;
import dev.sluice.testkit.redis.RedisSentinels;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Published messages arrive, also again after every kind of fault. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class SubscriptionTest {
  private static final String CHANNEL = "test:wake";

  private final AtomicInteger numbers = new AtomicInteger();
  private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();

  private TestMember listen(String url) {
    TestMember node = new TestMember(url);
    node.connection().subscribe(CHANNEL, heard::add);
    return node;
  }

  /** Publishes a new message until it is heard. */
  private void assertHears(RedisServer at) {
    String text = "message " + numbers.incrementAndGet();
    Await.until(
        text,
        () -> {
          at.command("PUBLISH", CHANNEL, text);
          return text.equals(heard.poll(50, TimeUnit.MILLISECONDS));
        });
  }

  private static List<String> ears(RedisServer server) {
    return String.valueOf(server.command("CLIENT", "LIST", "TYPE", "pubsub"))
        .lines()
        .filter(line -> line.contains("addr="))
        .toList();
  }

  private static long subscribers(RedisServer server) {
    return server.command("PUBSUB", "NUMSUB", CHANNEL) instanceof List<?> counts
        ? Long.parseLong(String.valueOf(counts.get(1)))
        : 0;
  }

  @Test
  void subscribe_toSeveralChannels_hearsEachOverOneConnection() {
    try (RedisServer server = RedisServer.start()) {
      try (TestMember node = new TestMember(server.uri())) {
        assertThat(ears(server)).isEmpty();
        node.connection().subscribe("a", text -> heard.add("1 " + text));
        node.connection().subscribe("a", SubscriptionTest::fail);
        node.connection().subscribe("a", text -> heard.add("2 " + text));
        node.connection().subscribe("b", text -> heard.add("3 " + text));
        Await.until(
            "the channels",
            () -> server.command("PUBSUB", "CHANNELS") instanceof List<?> all && all.size() == 2);
        assertThat(ears(server)).hasSize(1);
        server.command("PUBLISH", "a", "x");
        server.command("PUBLISH", "b", "y");
        server.command("PUBLISH", "c", "z");
        Await.until("messages", () -> heard.size() == 3);
        assertThat(heard).containsExactlyInAnyOrder("1 x", "2 x", "3 y");
      }
      Await.until("the end", () -> ears(server).isEmpty());
    }
  }

  private static void fail(String text) {
    throw new IllegalStateException("for the log: " + text);
  }

  @Test
  void subscribe_afterAKillAndARestart_hearsAgain() {
    try (RedisServer server = RedisServer.start();
        TestMember node = listen(server.uri())) {
      assertHears(server);
      server.kill();
      Await.until("the loss", () -> node.told().contains("lost"));
      server.restart();
      assertHears(server);
      assertThat(subscribers(server)).isEqualTo(1);
    }
  }

  @Test
  void subscribe_whileRedisIsDown_returnsAtOnceAndHearsLater() {
    try (RedisServer server = RedisServer.start()) {
      server.kill();
      try (TestMember node = new TestMember(server.uri())) {
        long start = System.nanoTime();
        node.connection().subscribe(CHANNEL, heard::add);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(1));
        server.restart();
        assertHears(server);
      }
    }
  }

  @Test
  void tend_oftenWhileAllIsWell_keepsTheConnection() {
    try (RedisServer server = RedisServer.start();
        LettuceConnections connection =
            new LettuceConnections(RedisAddress.parse(server.uri()), null, Duration.ofMillis(200));
        Subscriptions subscriptions = new Subscriptions(connection, heard::add)) {
      subscriptions.add(CHANNEL, heard::add);
      assertHears(server);
      String id = ears(server).get(0).split(" ", 2)[0];
      // One at a time: each has been confirmed before the next.
      Await.until(
          "questions",
          () -> {
            subscriptions.tend();
            return server.info("commandstats", "cmdstat_subscribe").matches("calls=\\d{3},.*");
          });
      assertHears(server);
      assertThat(ears(server)).singleElement().asString().startsWith(id + " ");
    }
  }

  @Test
  void tend_overAConnectionThatLeadsNowhere_connectsAnew() {
    try (RedisServer server = RedisServer.start();
        TcpProxy proxy = TcpProxy.to(server);
        LettuceConnections connection =
            new LettuceConnections(RedisAddress.parse(proxy.uri()), null, Duration.ofMillis(200));
        Subscriptions subscriptions = new Subscriptions(connection, heard::add)) {
      subscriptions.add(CHANNEL, heard::add);
      assertHears(server);
      assertThat(proxy.connections()).isEqualTo(1);
      proxy.blackHole();
      Await.until(
          "another connection",
          () -> {
            subscriptions.tend();
            return proxy.connections() > 1;
          });
      proxy.heal();
      Await.until(
          "a subscription",
          () -> {
            subscriptions.tend();
            return subscribers(server) == 1;
          });
      assertHears(server);
    }
  }

  @Test
  void subscribe_droppedByTheServer_hearsAgain() {
    try (RedisServer server = RedisServer.start();
        TestMember node = listen(server.uri())) {
      assertHears(server);
      assertThat(server.command("CLIENT", "KILL", "TYPE", "pubsub")).isEqualTo(1L);
      assertHears(server);
      assertThat(node.told()).containsExactly("report", "connected");
    }
  }

  @Test
  void subscribe_refused_isToldAndTriedAgain() {
    try (RedisServer server = RedisServer.start()) {
      server.command("ACL", "SETUSER", "default", "resetchannels");
      try (TestMember node = listen(server.uri())) {
        Await.until(
            "the refusal", () -> node.told().stream().anyMatch(text -> text.startsWith("NOPERM")));
        assertThat(node.connection().state().asksRedis()).isTrue();
        server.command("ACL", "SETUSER", "default", "allchannels");
        assertHears(server);
      }
    }
  }

  @Tag("long")
  @Test
  void subscribe_inACluster_hearsEveryNodeAndOutlivesItsOwn() {
    try (RedisCluster cluster = RedisCluster.start();
        TestMember node = listen(url(cluster))) {
      for (int i = 0; i < 3; i++) {
        assertHears(cluster.node(i));
      }
      int own = 0;
      while (subscribers(cluster.node(own)) == 0) {
        own++;
      }
      cluster.node(own).kill();
      assertHears(cluster.node((own + 1) % 3));
      cluster.node(own).restart();
      cluster.awaitOk();
      node.awaitReturn();
      assertHears(cluster.node(own));
    }
  }

  private static String url(RedisCluster cluster) {
    return cluster.uris().stream()
        .map(uri -> uri.substring("redis://".length()))
        .collect(Collectors.joining(",", "redis-cluster://", ""));
  }

  @Tag("long")
  @Test
  void subscribe_bySentinels_hearsTheNewMaster() {
    try (RedisSentinels sentinels = RedisSentinels.start();
        TestMember node = listen(sentinels.uri())) {
      assertHears(sentinels.master());
      RedisServer next = sentinels.replica();
      sentinels.killMaster();
      sentinels.awaitFailover();
      node.awaitReturn();
      assertHears(next);
    }
  }
}
