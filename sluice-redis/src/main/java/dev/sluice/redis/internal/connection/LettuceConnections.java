package dev.sluice.redis.internal.connection;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.api.async.RedisScriptingAsyncCommands;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import io.netty.handler.flush.FlushConsolidationHandler;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connections to one Redis, Sentinel or Cluster, by Lettuce.
 *
 * <p>A command is rejected at once where there is no connection, and never sent a second time: what
 * was in flight when a connection broke may have been done.
 */
public final class LettuceConnections implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LettuceConnections.class);
  private static final Duration RECONNECT_DELAY = Duration.ofMillis(100);
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(1);

  /** A server that accepts and says nothing is given up. */
  private static final Duration MIN_GREETING = Duration.ofSeconds(1);

  private static final Duration TOPOLOGY_PERIOD = Duration.ofSeconds(30);
  private static final long SHUTDOWN_SECONDS = 5;

  private final ClientResources resources;
  private final Supplier<CompletableFuture<LettuceConnections.ScriptConnection>> connector;
  private final Supplier<CompletableFuture<LettuceConnections.PubSubConnection>> listener;
  private final Runnable shutdown;

  /** A connection for commands. */
  record ScriptConnection(RedisScriptingAsyncCommands<String, String> scripts, Runnable closing) {
    void close() {
      closing.run();
    }

    RedisFuture<List<Object>> evalsha(LuaScript script, String[] names, String[] arguments) {
      return scripts.evalsha(script.digest(), ScriptOutputType.MULTI, names, arguments);
    }

    RedisFuture<String> load(LuaScript script) {
      return scripts.scriptLoad(script.body());
    }

    RedisFuture<List<Object>> eval(LuaScript script, String[] names, String[] arguments) {
      return scripts.eval(script.body(), ScriptOutputType.MULTI, names, arguments);
    }
  }

  /** A connection for published messages; subscribes again after a break. */
  static final class PubSubConnection {
    private final StatefulRedisPubSubConnection<String, String> link;

    private PubSubConnection(StatefulRedisPubSubConnection<String, String> link) {
      this.link = link;
    }

    void hear(BiConsumer<String, String> message) {
      link.addListener(
          new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String text) {
              message.accept(channel, text);
            }
          });
    }

    /** Asks for channels; does nothing about those that it has. */
    CompletableFuture<Void> subscribe(String[] channels) {
      return CompletableFuture.allOf(link.async().subscribe(channels).toCompletableFuture());
    }

    void close() {
      forget(link.closeAsync());
    }
  }

  public LettuceConnections(RedisAddress address, @Nullable Path trust, Duration timeout) {
    this(address, trust, timeout, () -> {});
  }

  /** Tells {@code disconnected} whenever a connection breaks, on a thread that must not block. */
  LettuceConnections(
      RedisAddress address, @Nullable Path trust, Duration timeout, Runnable disconnected) {
    Duration greeting = timeout.compareTo(MIN_GREETING) > 0 ? timeout : MIN_GREETING;
    address.uris().forEach(uri -> uri.setTimeout(greeting));
    resources =
        DefaultClientResources.builder()
            .reconnectDelay(Delay.constant(RECONNECT_DELAY))
            .nettyCustomizer(new LettuceConnections.FlushCoalescing())
            .build();
    if (address.cluster()) {
      RedisClusterClient client = RedisClusterClient.create(resources, address.uris());
      client.setOptions(clusterOptions(trust));
      client.addListener(new Disconnections(disconnected));
      connector =
          () ->
              // The nodes as they are now: it does not connect without them.
              client
                  .refreshPartitionsAsync()
                  .toCompletableFuture()
                  .thenCompose(known -> client.connectAsync(StringCodec.UTF8))
                  .thenApply(
                      link ->
                          new LettuceConnections.ScriptConnection(
                              link.async(), () -> forget(link.closeAsync())));
      listener =
          () ->
              client
                  .refreshPartitionsAsync()
                  .toCompletableFuture()
                  .thenCompose(known -> client.connectPubSubAsync(StringCodec.UTF8))
                  .thenApply(LettuceConnections.PubSubConnection::new);
      shutdown = () -> client.shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS);
    } else {
      RedisClient client = RedisClient.create(resources);
      client.setOptions(options(ClientOptions.builder(), trust).build());
      client.addListener(new Disconnections(disconnected));
      connector =
          () ->
              client
                  .connectAsync(StringCodec.UTF8, address.uris().get(0))
                  .toCompletableFuture()
                  .thenApply(
                      link ->
                          new LettuceConnections.ScriptConnection(
                              link.async(), () -> forget(link.closeAsync())));
      listener =
          () ->
              client
                  .connectPubSubAsync(StringCodec.UTF8, address.uris().get(0))
                  .toCompletableFuture()
                  .thenApply(LettuceConnections.PubSubConnection::new);
      shutdown = () -> client.shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS);
    }
  }

  /** Ignores the completion of a close. */
  private static void forget(CompletableFuture<Void> closed) {
    closed.isDone();
  }

  private static ClientOptions.Builder options(
      ClientOptions.Builder builder, @Nullable Path trust) {
    if (trust != null) {
      builder.sslOptions(SslOptions.builder().trustManager(trust.toFile()).build());
    }
    return builder
        .autoReconnect(true)
        .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
        .replayFilter(command -> true)
        .socketOptions(SocketOptions.builder().connectTimeout(CONNECT_TIMEOUT).build());
  }

  private static ClusterClientOptions clusterOptions(@Nullable Path trust) {
    ClusterClientOptions.Builder builder = ClusterClientOptions.builder();
    options(builder, trust);
    return builder
        .topologyRefreshOptions(
            ClusterTopologyRefreshOptions.builder().enablePeriodicRefresh(TOPOLOGY_PERIOD).build())
        .build();
  }

  /** A new connection; fails if there is none within about a second. */
  CompletableFuture<LettuceConnections.ScriptConnection> connect() {
    return begin(connector);
  }

  /** A new connection for what is published; fails as {@link #connect} does. */
  CompletableFuture<LettuceConnections.PubSubConnection> listen() {
    return begin(listener);
  }

  private static <T> CompletableFuture<T> begin(Supplier<CompletableFuture<T>> attempt) {
    try {
      return attempt.get();
    } catch (RuntimeException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  /** Runs it on a thread of the connections; not if they are closed. */
  void later(Runnable work) {
    try {
      resources.eventExecutorGroup().execute(work);
    } catch (RejectedExecutionException closing) {
      LOG.debug("not done, because the connections are closing", closing);
    }
  }

  @Override
  public void close() {
    shutdown.run();
    resources.shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS).awaitUninterruptibly();
  }

  /** Passes on that a connection broke. */
  private record Disconnections(Runnable told) implements RedisConnectionStateListener {
    @Override
    public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
      told.run();
    }
  }

  /** Commands that threads send at the same time go out together: one system call for all. */
  private static final class FlushCoalescing implements NettyCustomizer {
    @Override
    public void afterChannelInitialized(Channel channel) {
      channel
          .pipeline()
          .addFirst(
              new FlushConsolidationHandler(
                  FlushConsolidationHandler.DEFAULT_EXPLICIT_FLUSH_AFTER_FLUSHES, true));
    }
  }
}
