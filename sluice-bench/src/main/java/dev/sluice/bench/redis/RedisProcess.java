package dev.sluice.bench.redis;

import dev.sluice.bench.measure.Child;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A Redis server of its own that keeps everything in memory. */
public final class RedisProcess implements AutoCloseable {
  private static final String VERSION = "redis_version:";

  private final int port = Child.freePort();
  private final Child child;

  public RedisProcess(Path folder) throws IOException, InterruptedException {
    child =
        new Child(
            folder,
            Map.of(),
            List.of(
                "redis-server",
                "--bind",
                "127.0.0.1",
                "--port",
                String.valueOf(port),
                "--save",
                "",
                "--appendonly",
                "no"));
    child.awaitPort(port);
  }

  public String url() {
    return "redis://127.0.0.1:" + port;
  }

  public String version() {
    try (RedisClient client = RedisClient.create(url());
        StatefulRedisConnection<String, String> connection = client.connect()) {
      return connection
          .sync()
          .info("server")
          .lines()
          .filter(line -> line.startsWith(VERSION))
          .map(line -> line.substring(VERSION.length()))
          .findFirst()
          .orElseThrow();
    }
  }

  @Override
  public void close() {
    child.close();
  }
}
