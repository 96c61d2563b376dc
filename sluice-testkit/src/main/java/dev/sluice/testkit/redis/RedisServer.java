package dev.sluice.testkit.redis;

import dev.sluice.testkit.Await;
import dev.sluice.testkit.FakeClock;
import dev.sluice.testkit.Programs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A real redis-server on a free port of the loopback address, in a folder of its own that goes when
 * it is closed. It keeps no data on disk unless configured. No server outlives the JVM that started
 * it, not even one that is killed.
 *
 * @since 0.1
 */
public final class RedisServer implements AutoCloseable {
  private static final String DUMP = "dump.rdb";
  private static final long CLOCK_SLACK_MICROS = 500_000;
  private static final Duration SYNC_LIMIT = Duration.ofSeconds(20);

  private final Builder settings;
  private final Path dir;
  private final int port;
  private final int tlsPort;
  private final RedisConsole console;
  private final RedisProcess process;

  private RedisServer(Builder settings) {
    this.settings = settings;
    this.dir = RedisProcess.newDir();
    this.port = Ports.free();
    this.tlsPort = settings.tls ? Ports.free() : 0;
    this.console = new RedisConsole(port, settings.login());
    this.process = new RedisProcess(dir, console, command());
  }

  /** Starts one without data, password or TLS. */
  public static RedisServer start() {
    return builder().start();
  }

  /** A server with more to it. */
  public static Builder builder() {
    return new Builder();
  }

  /** How a client finds it, with the password if there is one: {@code redis://127.0.0.1:PORT}. */
  public String uri() {
    return settings.tls
        ? "rediss://" + settings.credentials() + "127.0.0.1:" + tlsPort
        : "redis://" + settings.credentials() + "127.0.0.1:" + port;
  }

  /** Where it speaks without TLS. */
  public int port() {
    return port;
  }

  /** Where it speaks TLS; 0 if it does not. */
  public int tlsPort() {
    return tlsPort;
  }

  /** The PEM file a client has to trust; only with TLS. */
  public Path certificate() {
    if (!settings.tls) {
      throw new IllegalStateException("the server was started without tls()");
    }
    return dir.resolve(SelfSigned.CERTIFICATE);
  }

  /** The number of the process that runs or ran last. */
  public long pid() {
    return process.pid();
  }

  /** Whether its process runs; a paused one does. */
  public boolean isAlive() {
    return process.isAlive();
  }

  /**
   * Runs a command, on a connection of its own.
   *
   * @return a String, a Long, a List of these, or null
   * @throws IllegalStateException if the server answers with an error
   */
  public @Nullable Object command(String... words) {
    return console.command(List.of(words));
  }

  /** A field of INFO; empty if there is no such field. */
  public String info(String section, String name) {
    return console.info(section, name);
  }

  /** The server's own time, as its scripts see it. */
  public long micros() {
    List<?> time = (List<?>) command("TIME");
    if (time == null) {
      throw new IllegalStateException("no answer to TIME");
    }
    long seconds = Long.parseLong(String.valueOf(time.get(0)));
    return Math.addExact(
        Math.multiplyExact(seconds, 1_000_000L), Long.parseLong(String.valueOf(time.get(1))));
  }

  /** Sets the server's clock while it runs: so far ahead of this machine's, or behind. */
  public void clockOffset(Duration offset) {
    setClock(FakeClock.text(offset));
  }

  /** Stops the server's clock at an instant, to the microsecond; keys expire by it too. */
  public void standAt(Instant time) {
    setClock(FakeClock.text(time));
  }

  private void setClock(String text) {
    if (settings.clockOffset == null) {
      throw new IllegalStateException("the server was started without clockOffset()");
    }
    writeClock(text);
  }

  /** Returns its data as an RDB file, which {@link Builder#dump} starts a server with. */
  public byte[] dump() {
    command("SAVE");
    try {
      return Files.readAllBytes(dir.resolve(DUMP));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Kills it, as a crash would; returns once it is dead. */
  public void kill() {
    process.kill();
  }

  /** Stops it in its tracks: connections stay open, nothing is answered. */
  public void pause() {
    process.pause();
  }

  /** Lets it go on after {@link #pause()}. */
  public void resume() {
    process.resume();
  }

  /** Kills it if it runs, and starts it on the same port with the data on its disk. */
  public void restart() {
    process.kill();
    process.start();
  }

  /** Kills it if it runs, and starts it on the same port without its data. */
  public void restartEmpty() {
    process.kill();
    RedisProcess.delete(dir.resolve("appendonlydir"));
    RedisProcess.delete(dir.resolve(DUMP));
    process.start();
  }

  /** Kills it and removes its folder. */
  @Override
  public void close() {
    process.close();
  }

  /** Where its files are. */
  Path dir() {
    return dir;
  }

  private void launch() {
    if (settings.tls) {
      SelfSigned.write(dir);
    }
    if (settings.clockOffset != null) {
      writeClock(FakeClock.text(settings.clockOffset));
    }
    if (settings.dump != null) {
      copyDump(settings.dump);
    }
    process.start();
    checkClock();
    if (settings.primary != null) {
      Await.until(
          () -> "a replica in step with its primary",
          SYNC_LIMIT,
          () -> info("replication", "master_link_status").equals("up"));
    }
  }

  private void copyDump(Path rdb) {
    try {
      Files.copy(rdb, dir.resolve(DUMP));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The linker only warns where it does not find the library of a wrong clock. */
  private void checkClock() {
    if (settings.clockOffset == null) {
      return;
    }
    long before = machineMicros();
    long offset = micros() - before;
    long slack = machineMicros() - before + CLOCK_SLACK_MICROS;
    long asked = TimeUnit.MICROSECONDS.convert(settings.clockOffset);
    if (Math.abs(offset - asked) > slack) {
      throw new IllegalStateException(
          "the clock is not off as asked: micros=%d, asked=%d".formatted(offset, asked));
    }
  }

  private static long machineMicros() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }

  private List<String> command() {
    List<String> words = new ArrayList<>();
    if (settings.clockOffset != null) {
      words.addAll(FakeClock.prefix(clockFile()));
    }
    words.add(Programs.find("redis-server"));
    words.addAll(List.of("--bind", "127.0.0.1", "--port", Integer.toString(port)));
    words.addAll(List.of("--dir", dir.toString(), "--save", "", "--loglevel", "notice"));
    words.addAll(List.of("--enable-debug-command", "local", "--repl-diskless-sync-delay", "0"));
    words.addAll(
        settings.data
            ? List.of("--appendonly", "yes", "--appendfsync", "always")
            : List.of("--appendonly", "no"));
    if (settings.tls) {
      words.addAll(List.of("--tls-port", Integer.toString(tlsPort), "--tls-auth-clients", "no"));
      words.addAll(List.of("--tls-cert-file", dir.resolve(SelfSigned.CERTIFICATE).toString()));
      words.addAll(List.of("--tls-key-file", dir.resolve(SelfSigned.KEY).toString()));
    }
    if (settings.cluster) {
      words.addAll(List.of("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"));
      words.addAll(List.of("--cluster-port", Integer.toString(Ports.free())));
      words.addAll(List.of("--cluster-node-timeout", "2000"));
      words.addAll(List.of("--cluster-announce-ip", "127.0.0.1"));
    }
    words.addAll(settings.access());
    words.addAll(settings.replication());
    words.addAll(settings.more);
    return words;
  }

  private Path clockFile() {
    return dir.resolve("clock");
  }

  private void writeClock(String text) {
    try {
      Path next = dir.resolve("clock.next");
      Files.writeString(next, text);
      Files.move(next, clockFile(), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Options of a server.
   *
   * @since 0.1
   */
  public static final class Builder {
    private static final int PORT_TRIES = 5;

    private boolean data;
    private boolean tls;
    private boolean cluster;
    private String user = "";
    private String password = "";
    private @Nullable Duration clockOffset;
    private @Nullable RedisServer primary;
    private @Nullable Path dump;
    private final List<String> more = new ArrayList<>();

    private Builder() {}

    /** Writes every change to disk before it answers, so that a restart has all of them. */
    public Builder data() {
      data = true;
      return this;
    }

    /** Asks for a password. */
    public Builder password(String password) {
      return password("", password);
    }

    /** Requires a user's name and password from every client. */
    public Builder password(String user, String password) {
      this.user = user;
      this.password = password;
      return this;
    }

    /** Speaks TLS as well, on a port of its own. */
    public Builder tls() {
      tls = true;
      return this;
    }

    /** Runs on a clock that is so far ahead of this machine's, or behind; it can be set later. */
    public Builder clockOffset(Duration offset) {
      clockOffset = offset;
      return this;
    }

    /** Follows another server, and starts once it is in step. */
    public Builder replicaOf(RedisServer primary) {
      this.primary = primary;
      return this;
    }

    /**
     * Starts with the data of an RDB file; what has expired by the server's clock is not loaded.
     */
    public Builder dump(Path rdb) {
      dump = rdb;
      return this;
    }

    /** Is a node of a cluster, still without slots. */
    public Builder cluster() {
      cluster = true;
      return this;
    }

    /** Sets one more option, as {@code config("maxmemory", "10mb")}. */
    public Builder config(String name, String... values) {
      more.add("--" + name);
      more.addAll(List.of(values));
      return this;
    }

    /** Starts it; returns once it answers. */
    public RedisServer start() {
      Programs.find("redis-server");
      if (clockOffset != null) {
        Programs.find("faketime");
      }
      for (int i = 1; ; i++) {
        RedisServer server = new RedisServer(this);
        try {
          server.launch();
          return server;
        } catch (RedisProcess.PortTakenException e) {
          server.close();
          if (i == PORT_TRIES) {
            throw e;
          }
        } catch (RuntimeException e) {
          server.close();
          throw e;
        }
      }
    }

    private List<String> login() {
      if (password.isEmpty()) {
        return List.of();
      }
      return user.isEmpty() ? List.of(password) : List.of(user, password);
    }

    private String credentials() {
      return password.isEmpty() ? "" : user + ":" + password + "@";
    }

    private List<String> access() {
      if (password.isEmpty()) {
        return List.of();
      }
      return user.isEmpty()
          ? List.of("--requirepass", password)
          : List.of(
              "--user",
              user,
              "on",
              ">" + password,
              "~*",
              "&*",
              "+@all",
              "--user",
              "default",
              "off");
    }

    private List<String> replication() {
      if (primary == null) {
        return List.of();
      }
      List<String> words = new ArrayList<>();
      words.addAll(List.of("--replicaof", "127.0.0.1", Integer.toString(primary.port)));
      Builder other = primary.settings;
      if (!other.password.isEmpty()) {
        words.addAll(List.of("--masterauth", other.password));
      }
      if (!other.user.isEmpty()) {
        words.addAll(List.of("--masteruser", other.user));
      }
      return words;
    }
  }
}
