package dev.sluice.cli;

import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.CommandTimer;
import dev.sluice.cli.runtime.TerminalInfo;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine;

/** Runs the command line as a user would, and keeps what it says. */
record Cli(int exitCode, String out, String err) {

  static Cli run(String... args) {
    return run(new Setting(), args);
  }

  static Cli run(Setting setting, String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine sluice =
        Sluice.commandLine(
                new CommandContext(
                    setting.input,
                    new TerminalInfo(
                        setting.answering, setting.terminal, setting.answering, setting.terminal),
                    setting.environment,
                    setting.timers))
            .setOut(new PrintWriter(out))
            .setErr(new PrintWriter(err));
    int exitCode = sluice.execute(args);
    return new Cli(exitCode, plain(out), plain(err));
  }

  private static String plain(StringWriter text) {
    return text.toString().replace(System.lineSeparator(), "\n");
  }

  List<String> outLines() {
    return out.lines().toList();
  }

  Map<String, Object> json() {
    return JsonReader.readObject(out);
  }

  /** The environment of a run: by default no input, no terminal and simulated time. */
  static final class Setting {
    private InputStream input = InputStream.nullInputStream();
    private boolean terminal;
    private boolean answering;
    private Map<String, String> environment = Map.of();
    private Supplier<CommandTimer> timers = ManualCommandTimer::new;

    Setting input(String text) {
      input = new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
      return this;
    }

    Setting terminal() {
      terminal = true;
      return this;
    }

    /** Returns the environment of a user who types this at a terminal. */
    Setting answer(String text) {
      answering = true;
      return input(text);
    }

    Setting environment(Map<String, String> variables) {
      environment = variables;
      return this;
    }

    Setting timer(Supplier<CommandTimer> timer) {
      timers = timer;
      return this;
    }
  }
}
