package dev.sluice.testkit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.Await;
import dev.sluice.testkit.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Servers whose JVM ends without closing them are stopped. */
@Tag("any-jdk")
@Timeout(60)
class LeftoverTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  /** Starts two servers, one of them paused, says where they are, and ends once told to. */
  static final class Careless {
    private Careless() {}

    public static void main(String[] args) throws IOException {
      RedisServer server = RedisServer.start();
      RedisServer paused = RedisServer.builder().clockOffset(Duration.ofHours(1)).start();
      paused.pause();
      System.out.println(server.pid() + " " + server.dir());
      System.out.println(paused.pid() + " " + paused.dir());
      System.exit(System.in.read());
    }
  }

  private record Server(long pid, Path dir) {
    static Server parse(String line) {
      String[] words = line.split(" ", -1);
      return new Server(Long.parseLong(words[0]), Path.of(words[1]));
    }

    boolean runs() {
      return Processes.runs(pid);
    }
  }

  @Test
  void killedJvm_leavesNoServer() throws IOException {
    Process jvm = startCareless();
    List<Server> servers = servers(jvm);
    assertThat(servers).allMatch(Server::runs);
    jvm.destroyForcibly();
    Await.until(() -> "no server", LIMIT, () -> servers.stream().noneMatch(Server::runs));
    servers.forEach(server -> RedisProcess.delete(server.dir()));
  }

  @Test
  void exitedJvm_leavesNeitherServerNorFolder() throws IOException {
    Process jvm = startCareless();
    List<Server> servers = servers(jvm);
    assertThat(servers).allMatch(Server::runs);
    jvm.getOutputStream().close();
    jvm.onExit().join();
    assertThat(servers).noneMatch(Server::runs);
    assertThat(servers).noneMatch(server -> Files.exists(server.dir()));
  }

  private static Process startCareless() throws IOException {
    return new ProcessBuilder(JavaProcess.command(List.of(), Careless.class, List.of()))
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  private static List<Server> servers(Process jvm) throws IOException {
    BufferedReader said = jvm.inputReader();
    return List.of(Server.parse(said.readLine()), Server.parse(said.readLine()));
  }
}
