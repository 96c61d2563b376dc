package dev.sluice.attacks.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.attacks.wire.Loopback;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Attacks only reach the server under test. */
@Timeout(60)
final class AttemptTest {
  private static final Duration LONG = Duration.ofSeconds(30);

  /** Accepts connections, reads all bytes and answers nothing. */
  private static final class Sink implements AutoCloseable {
    private final ServerSocket listener =
        new ServerSocket(0, 1_000, InetAddress.getLoopbackAddress());
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicLong bytes = new AtomicLong();

    Sink() throws IOException {
      daemon(this::accept);
    }

    private static void daemon(Runnable task) {
      Thread thread = new Thread(task);
      thread.setDaemon(true);
      thread.start();
    }

    private void accept() {
      try {
        while (true) {
          Socket socket = listener.accept();
          connections.incrementAndGet();
          daemon(() -> drain(socket));
        }
      } catch (IOException closed) {
        // The test is over.
      }
    }

    private void drain(Socket socket) {
      try (socket) {
        bytes.addAndGet(socket.getInputStream().transferTo(OutputStream.nullOutputStream()));
      } catch (IOException reset) {
        // The attempt is over.
      }
    }

    Target target() {
      int port = listener.getLocalPort();
      return Target.local(port, port, "powerless", List.of("tenant"));
    }

    @Override
    public void close() throws IOException {
      listener.close();
    }
  }

  /** Opens connections and sends for as long as it is let. */
  private static final class Greedy extends Attack {
    Greedy(Bounds bounds) {
      super("greedy", Family.CONNECTIONS, Access.NO_KEY, bounds);
    }

    @Override
    void run(Attempt attempt) throws InterruptedException {
      attempt.repeat(
          4,
          () -> {
            try (Attempt.Connection connection = attempt.http()) {
              connection.send(new byte[1_000]);
            }
          });
    }
  }

  @Test
  void targetsBeyondLoopback_areRefused() {
    InetSocketAddress elsewhere = new InetSocketAddress("192.0.2.1", 80);
    InetSocketAddress here = new InetSocketAddress(InetAddress.getLoopbackAddress(), 80);
    assertThatThrownBy(() -> Loopback.connect(elsewhere, Duration.ofSeconds(1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("192.0.2.1");
    assertThatThrownBy(() -> new Target(elsewhere, here, "", List.of("k")))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new Target(here, elsewhere, "", List.of("k")))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(
            () -> Loopback.requireLoopback(InetSocketAddress.createUnresolved("localhost", 1)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void connections_areBounded() throws Exception {
    try (Sink sink = new Sink()) {
      Attack greedy = new Greedy(new Attack.Bounds(7, 1 << 20, 1 << 20));
      Attempt.Outcome outcome = Attempt.prepare(greedy, sink.target()).run(LONG);
      assertThat(outcome.connections()).isEqualTo(7);
      assertThat(sink.connections.get()).isLessThanOrEqualTo(7);
    }
  }

  @Test
  void bytes_areBounded() throws Exception {
    try (Sink sink = new Sink()) {
      Attack greedy = new Greedy(new Attack.Bounds(1_000, 10_500, 1 << 20));
      Attempt.Outcome outcome = Attempt.prepare(greedy, sink.target()).run(LONG);
      assertThat(outcome.bytes()).isBetween(9_000L, 10_500L);
      assertThat(sink.bytes.get()).isLessThanOrEqualTo(10_500);
    }
  }

  @Test
  void bytesPerSecond_areBounded() throws Exception {
    try (Sink sink = new Sink()) {
      Attack greedy = new Greedy(new Attack.Bounds(100_000, 1 << 30, 20_000));
      Attempt.Outcome outcome = Attempt.prepare(greedy, sink.target()).run(Duration.ofMillis(500));
      // Four threads may each be one request ahead.
      assertThat(outcome.bytes()).isLessThanOrEqualTo(10_000 + 4 * 1_000);
    }
  }

  @Test
  void everyAttack_endsAndKeepsItsBounds() throws Exception {
    try (Sink sink = new Sink()) {
      for (Attack attack : Attacks.all()) {
        Attempt attempt = Attempt.prepare(attack, sink.target());
        Attempt.Outcome outcome = attempt.run(Duration.ofMillis(20));
        assertThat(outcome.connections())
            .as(attack.name())
            .isLessThanOrEqualTo(attack.bounds().connections());
      }
    }
  }

  @Test
  void documentedNumbersOfAttacks_matchTheCatalog() throws IOException {
    assertThat(Files.readString(Path.of("..", "docs", "benchmarks.md")))
        .contains(
            "`--quick` runs %d of the %d attacks"
                .formatted(Attacks.quick().size(), Attacks.all().size()));
  }

  @Test
  void names_areUnique() {
    List<String> names = Attacks.all().stream().map(Attack::name).toList();
    assertThat(new HashSet<>(names)).hasSameSizeAs(names);
    assertThat(Attacks.quick()).hasSizeBetween(20, names.size() - 1);
    assertThatThrownBy(() -> Attacks.named("none")).hasMessageContaining("none");
  }

  @Test
  void collidingValues_haveOneHashCode() {
    HashSet<String> texts = new HashSet<>();
    HashSet<String> ids = new HashSet<>();
    for (int i = 0; i < 1_000; i++) {
      texts.add(Collisions.text(i));
      ids.add(Collisions.id(i));
    }
    assertThat(texts).hasSize(1_000);
    assertThat(ids).hasSize(1_000);
    assertThat(texts.stream().map(String::hashCode).distinct()).hasSize(1);
    assertThat(ids.stream().map(id -> UUID.fromString(id).hashCode()).distinct()).hasSize(1);
  }
}
