package dev.sluice.testkit.redis;

import dev.sluice.testkit.Await;
import dev.sluice.testkit.Programs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A master, a replica and three sentinels, all real processes: when the master dies, the replica
 * takes its place within seconds.
 *
 * @since 0.1
 */
public final class RedisSentinels implements AutoCloseable {
  /** The name of the master among the sentinels. */
  public static final String NAME = "mymaster";

  private static final int SENTINELS = 3;
  private static final int PORT_TRIES = 5;
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final List<Sentinel> sentinels = new ArrayList<>();
  private final RedisServer master;
  private final RedisServer replica;

  private record Sentinel(int port, RedisConsole console, RedisProcess process) {}

  private RedisSentinels(RedisServer master, RedisServer replica) {
    this.master = master;
    this.replica = replica;
  }

  /** Starts them; returns once the sentinels know each other and the replica. */
  public static RedisSentinels start() {
    return start(RedisServer.builder());
  }

  /** The same with a replica whose clock is so far ahead of the master's, or behind. */
  public static RedisSentinels start(Duration replicaClockOffset) {
    return start(RedisServer.builder().clockOffset(replicaClockOffset));
  }

  private static RedisSentinels start(RedisServer.Builder replicaSettings) {
    RedisServer master = RedisServer.start();
    RedisServer replica;
    try {
      replica = replicaSettings.replicaOf(master).start();
    } catch (RuntimeException e) {
      master.close();
      throw e;
    }
    RedisSentinels all = new RedisSentinels(master, replica);
    try {
      for (int i = 0; i < SENTINELS; i++) {
        all.sentinels.add(startSentinel(master.port()));
      }
      all.awaitAgreement();
      return all;
    } catch (RuntimeException e) {
      all.close();
      throw e;
    }
  }

  /** How a client finds the master: {@code redis-sentinel://HOST:PORT,...#mymaster}. */
  public String uri() {
    return sentinels.stream()
        .map(sentinel -> "127.0.0.1:" + sentinel.port())
        .collect(Collectors.joining(",", "redis-sentinel://", "/0#" + NAME));
  }

  /** The ports of the sentinels. */
  public List<Integer> ports() {
    return sentinels.stream().map(Sentinel::port).toList();
  }

  /** The server that was the master at first. */
  public RedisServer master() {
    return master;
  }

  /** The server that was the replica at first. */
  public RedisServer replica() {
    return replica;
  }

  /** Kills the server that was the master at first. */
  public void killMaster() {
    master.kill();
  }

  /** Returns once the replica is the master, and every sentinel says so. */
  public void awaitFailover() {
    Await.until(() -> "a replica that became the master", LIMIT, this::isReplicaMaster);
    for (Sentinel sentinel : sentinels) {
      Await.until(
          () -> "a sentinel that names the new master",
          LIMIT,
          () -> field(sentinel, "port").equals(Integer.toString(replica.port())));
    }
  }

  private boolean isReplicaMaster() {
    try {
      return replica.info("replication", "role").equals("master");
    } catch (UncheckedIOException cutOff) {
      // Sentinels cut all clients off a server that they promote.
      return false;
    }
  }

  /** Kills all of them and removes their folders. */
  @Override
  public void close() {
    sentinels.forEach(sentinel -> sentinel.process().close());
    replica.close();
    master.close();
  }

  private void awaitAgreement() {
    for (Sentinel sentinel : sentinels) {
      Await.until(
          () -> "sentinels that know each other and the replica",
          LIMIT,
          () ->
              field(sentinel, "num-other-sentinels").equals(Integer.toString(SENTINELS - 1))
                  && field(sentinel, "num-slaves").equals("1"));
    }
  }

  private static Sentinel startSentinel(int masterPort) {
    for (int i = 1; ; i++) {
      int port = Ports.free();
      Path dir = RedisProcess.newDir();
      RedisConsole console = new RedisConsole(port, List.of());
      Path file = dir.resolve("sentinel.conf");
      String program = Programs.find("redis-server");
      List<String> command = List.of(program, file.toString(), "--sentinel");
      RedisProcess process = new RedisProcess(dir, console, command);
      try {
        Files.writeString(file, settings(dir, port, masterPort));
        process.start();
        return new Sentinel(port, console, process);
      } catch (RedisProcess.PortTakenException e) {
        process.close();
        if (i == PORT_TRIES) {
          throw e;
        }
      } catch (IOException e) {
        process.close();
        throw new UncheckedIOException(e);
      } catch (RuntimeException e) {
        process.close();
        throw e;
      }
    }
  }

  private static String settings(Path dir, int port, int masterPort) {
    return """
        bind 127.0.0.1
        port %d
        dir %s
        sentinel monitor %s 127.0.0.1 %d 2
        sentinel down-after-milliseconds %s 500
        sentinel failover-timeout %s 3000
        """
        .formatted(port, dir, NAME, masterPort, NAME, NAME);
  }

  /** Returns what a sentinel knows of the master; empty if it does not answer. */
  private static String field(Sentinel sentinel, String name) {
    Object answer = sentinel.console().command(List.of("SENTINEL", "MASTER", NAME));
    return answer instanceof List<?> pairs ? valueAfter(pairs, name) : "";
  }

  private static String valueAfter(List<? extends @Nullable Object> pairs, String name) {
    int at = pairs.indexOf(name);
    return at < 0 ? "" : String.valueOf(pairs.get(at + 1));
  }
}
