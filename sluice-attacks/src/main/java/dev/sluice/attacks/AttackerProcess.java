package dev.sluice.attacks;

import dev.sluice.attacks.catalog.Attack;
import dev.sluice.attacks.catalog.Attempt;
import dev.sluice.attacks.catalog.Target;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs attacks in a process of their own, at the lowest priority: server, good clients and attacker
 * share the processors, and the attacker must take none from the others. It ends with this process.
 */
final class AttackerProcess implements AutoCloseable {
  private static final List<String> COMMAND =
      List.of("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");
  private static final List<String> NICE = List.of("nice", "-n", "19");

  private final Process process;
  private final BufferedReader answers;
  private final BufferedWriter orders;

  AttackerProcess(Target target) throws IOException {
    List<String> command = new ArrayList<>(hasNice() ? NICE : List.of());
    command.add(JavaProgram.command());
    command.addAll(COMMAND);
    command.addAll(List.of("-cp", JavaProgram.classPath(), Attacker.class.getName()));
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    answers = process.inputReader(StandardCharsets.US_ASCII);
    orders = process.outputWriter(StandardCharsets.US_ASCII);
    tell(
        "%d %d %s %s"
            .formatted(
                target.grpc().getPort(),
                target.http().getPort(),
                target.powerlessKey(),
                String.join(",", target.tenantKeys())));
    await("ready");
  }

  private static boolean hasNice() {
    return new File("/usr/bin/nice").canExecute();
  }

  /** Prepares and starts an attack; returns when it has started. */
  void begin(Attack attack, Duration time) throws IOException {
    tell("%s %d".formatted(attack.name(), time.toMillis()));
    await("started");
  }

  /** Waits until it is over. */
  Attempt.Outcome awaitEnd() throws IOException {
    String[] words = await("done").split(" ", -1);
    return new Attempt.Outcome(
        Integer.parseInt(words[1]),
        Integer.parseInt(words[2]),
        Long.parseLong(words[3]),
        Integer.parseInt(words[4]));
  }

  private void tell(String line) throws IOException {
    orders.append(line).append('\n').flush();
  }

  private String await(String start) throws IOException {
    for (String line = answers.readLine(); line != null; line = answers.readLine()) {
      if (line.startsWith(start)) {
        return line;
      }
    }
    throw new IllegalStateException("the attacker ended before it said: " + start);
  }

  @Override
  public void close() {
    process.destroyForcibly();
    process.onExit().join();
  }
}
