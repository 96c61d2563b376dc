package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.commands.TopSample;
import dev.sluice.cli.commands.TopView;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.Quoting;
import dev.sluice.cli.text.TerminalText;
import dev.sluice.client.ThrottleRate;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Untrusted text cannot control the terminal of its reader. */
final class PrintableTest {
  /** Color, a title, a line of its own, CSI in one character, right to left, a separator. */
  private static final String HOSTILE =
      "a\u001b[31m\u001b]0;t\u0007\nb\rc\td\u007f\u009b2J\u202ee\u2028f\u2029\u200bg";

  private static final String SHOWN = "a?[31m?]0;t??b?c?d??2J?e?f??g";

  @TempDir private Path dir;
  private CliServer server;

  @BeforeEach
  void start() throws Exception {
    server = new CliServer(dir, null);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void line_replacesInvisibleCharacters() {
    assertThat(TerminalText.line(HOSTILE)).isEqualTo(SHOWN);
    assertThat(TerminalText.lines(HOSTILE)).isEqualTo("a?[31m?]0;t?\nb?c\td??2J?e?f??g");
    assertThat(TerminalText.line("\ud800x\udc00 \ufeff\u00ad \udb40\udc01"))
        .as("halves of characters, and what is not seen")
        .isEqualTo("?x? ?? ?");
    String drawn = "plain \u00e9 \u6f22 \ud83d\ude00 \ue000 \u05d0 e\u0301 ~";
    assertThat(TerminalText.line(drawn)).isSameAs(drawn);
  }

  @Test
  void quote_escapesControlCharactersReversibly() {
    String all = HOSTILE + "\ud800 \udb40\udc01 \"\\ \ud83d\ude00";
    String quoted = JsonWriter.quote(all);
    assertThat(TerminalText.line(quoted)).isEqualTo(quoted).contains("\\u009b2J\\u202ee\\u2028");
    assertThat(JsonReader.readObject(JsonWriter.object().put("k", all).toString()))
        .isEqualTo(Map.of("k", all));
  }

  @Test
  void quoted_replacesControlCharacters() {
    assertThat(Quoting.of("x\u009b\u202e")).isEqualTo("'x??'");
  }

  @Test
  void top_replacesControlCharacters() {
    TopSample now = new TopSample(0, List.of(), List.of(new ThrottleRate(HOSTILE, 1, 1, 0)));
    assertThat(TopView.lines("a", null, now, 200, 0)).anyMatch(line -> line.startsWith(SHOWN));
  }

  private void assertShown(Cli cli, int exitCode, String expected) {
    assertThat(cli.exitCode()).as(cli.err()).isEqualTo(exitCode);
    String all = cli.out() + cli.err();
    assertThat(all).contains(expected);
    assertThat(all.lines()).allSatisfy(line -> assertThat(line).isEqualTo(TerminalText.line(line)));
  }

  @Test
  void tables_replaceControlCharacters_alsoWithoutATerminal() {
    server.ok("queue", "create", "q");
    server.ok("message", "send", "q", "x", "--fairness-key", HOSTILE);
    server.ok("limit", "set", HOSTILE, "--rate", "5");
    server.ok("throttle", "set", HOSTILE, "--rate", "0");
    server.ok("config", "set", HOSTILE, HOSTILE);
    assertShown(server.run("queue", "stats", "q"), 0, SHOWN + "        1");
    assertShown(server.run("limit", "list"), 0, SHOWN + "       5");
    assertShown(server.run("throttle", "list"), 0, SHOWN);
    assertShown(server.run("config", "list", "--prefix", "a"), 0, SHOWN + "  " + SHOWN);
    assertThat(server.json("config", "list", "--prefix", "a", "--json").get(0))
        .isEqualTo(Map.of("entries", List.of(Map.of("key", HOSTILE, "value", HOSTILE))));
  }

  @Test
  void messagesAndErrors_replaceControlCharacters() {
    assertShown(server.run("limit", "set", HOSTILE, "--rate", "5"), 0, "set " + SHOWN);
    assertShown(server.run("limit", "decide", HOSTILE + "=99"), 3, SHOWN);
    assertShown(server.run("limit", "decide", "no" + HOSTILE), 1, "no" + SHOWN);
    assertShown(server.run("api-key", "create", "n\u202e"), 0, "secret  ");
    assertShown(server.run("api-key", "list"), 0, "n?");
    String id = server.json("api-key", "create", "m\u202e", "--json").get(0).get("id").toString();
    assertShown(server.run("api-key", "show", id), 0, "name     m?");
    assertShown(server.run("queue", "show", "q\u009b"), 1, "q?");
  }

  @Test
  void scripts_replaceControlCharacters() throws Exception {
    Path script = dir.resolve("hook.lua");
    Files.writeString(script, "-- \u001b[31m\u202e\nfunction on_enqueue(msg) return {} end\n");
    server.ok("queue", "create", "q", "--on-enqueue", script.toString());
    assertShown(server.run("queue", "show", "q"), 0, "  -- ?[31m?\n  function on_enqueue");
  }

  @Test
  void payloadsAndValues_areExact_exceptOnATerminal() {
    server.ok("queue", "create", "q");
    server.ok("config", "set", "k", HOSTILE);
    server.ok("message", "send", "q", HOSTILE);
    String lines = TerminalText.lines(HOSTILE);
    assertThat(onScreen("config", "get", "k")).isEqualTo(lines + "\n");
    assertThat(onScreen("message", "browse", "q")).endsWith("  " + lines + "\n");
    assertThat(server.ok("config", "get", "k")).isEqualTo(HOSTILE + "\n");
    assertThat(server.ok("message", "browse", "q")).endsWith("  " + HOSTILE + "\n");
    assertThat(onScreen("message", "browse", "q", "--json")).contains("\\u001b[31m", "\\u202ee");
    assertThat(server.ok("message", "receive", "q", "--ack")).isEqualTo(HOSTILE + "\n");
    server.ok("message", "send", "q", HOSTILE);
    assertThat(onScreen("message", "receive", "q")).endsWith("  " + lines + "\n");
  }

  private String onScreen(String... args) {
    return server.run(new Cli.Setting().terminal(), args).out();
  }
}
