package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class SimulateErrorsTest {
  private static final String REQUEST_RULE =
      "a request is TIME:TOKENS or TIME:TOKENSxCOUNT, such as 200ms:5: ";
  private static final String DURATION_RULE =
      "a duration must be a number with the unit ns, us, ms, s, m, h or d, such as 1.5s, but was ";
  private static final String TOKENS_RULE =
      "TOKENS must be a whole number of at most 18 digits, but was ";
  private static final String COUNT_RULE =
      "COUNT must be a whole number from 1 to 1000000, but was ";

  private static void assertRefused(Cli cli, String sentence) {
    assertThat(cli.err().lines().findFirst()).hasValue("sluice simulate: " + sentence);
    assertThat(cli.err()).doesNotContain("\tat ");
    assertThat(cli.exitCode()).isEqualTo(2);
    assertThat(cli.out()).isEmpty();
  }

  static Stream<Arguments> malformedRequests() {
    return Stream.of(
        arguments("7", REQUEST_RULE + "'7'"),
        arguments("0s:", REQUEST_RULE + "'0s:'"),
        arguments(":7", REQUEST_RULE + "':7'"),
        arguments("0s:7x", REQUEST_RULE + "'0s:7x'"),
        arguments("0s:7x2x3", REQUEST_RULE + "'0s:7x2x3'"),
        arguments("0s:1:2", REQUEST_RULE + "'0s:1:2'"),
        arguments("\u001b[31m", REQUEST_RULE + "'?[31m'"),
        arguments("a".repeat(100), REQUEST_RULE + "'" + "a".repeat(60) + "...'"),
        arguments("0:7", DURATION_RULE + "'0'"),
        arguments("0.1ns:7", "a duration must be a whole number of nanoseconds, but was '0.1ns'"),
        arguments("53376d:7", "a duration must be at most 146 years, but was '53376d'"),
        arguments("0s:y", TOKENS_RULE + "'y'"),
        arguments("0s:-7", TOKENS_RULE + "'-7'"),
        arguments("0s:1.5", TOKENS_RULE + "'1.5'"),
        arguments("0s:1234567890123456789", TOKENS_RULE + "'1234567890123456789'"),
        arguments("0s:7x0", COUNT_RULE + "'0'"),
        arguments("0s:7x-1", COUNT_RULE + "'-1'"),
        arguments("0s:7x9999999999", COUNT_RULE + "'9999999999'"),
        arguments(
            "0s:999999999999999999x10",
            "all requests together may ask for at most 9223372036854775807 tokens"));
  }

  @ParameterizedTest
  @MethodSource("malformedRequests")
  void request_malformed(String request, String sentence) {
    assertRefused(
        Cli.run("simulate", "--refill", "10/1s", "0s:1", request), "request 2: " + sentence);
  }

  @ParameterizedTest
  @MethodSource("malformedRequests")
  void line_malformed(String request, String sentence) {
    assertRefused(
        Cli.run(
            new Cli.Setting().input("# one\n0s:1\n\n  " + request + "# two\n"),
            "simulate",
            "--refill",
            "10/1s",
            "-"),
        "standard input, line 4: " + sentence);
  }

  static Stream<Arguments> refusedArguments() {
    String refill = "Invalid value for option '--refill': ";
    String number = "it must be a whole number of at most 18 digits, but was ";
    return Stream.of(
        arguments(
            "0s:1",
            "give one FILE with a scenario, or a limit and requests: one of"
                + " --refill=TOKENS/PERIOD, --strict=PERIOD and --manual"),
        arguments(
            "--capacity 5 0s:1",
            "a limit needs one of --refill=TOKENS/PERIOD, --strict=PERIOD and --manual"),
        arguments(
            "--refill 1/1s --strict 1s 0s:1",
            "--refill=TOKENS/PERIOD, --strict=PERIOD are mutually exclusive (specify only one)"),
        arguments(
            "--strict 1s --manual 0s:1",
            "--strict=PERIOD, --manual are mutually exclusive (specify only one)"),
        arguments("--strict 1s 0s:1", "--capacity is required with --strict and --manual"),
        arguments("--manual 0s:1", "--capacity is required with --strict and --manual"),
        arguments(
            "--refill 10 0s:1",
            refill + "a refill must be TOKENS/PERIOD, such as 10/1s, but was '10'"),
        arguments("--refill 10/1 0s:1", refill + DURATION_RULE + "'1'"),
        arguments("--refill x/1s 0s:1", refill + TOKENS_RULE + "'x'"),
        arguments("--refill 0/1s 0s:1", refill + "a refill must be positive, but was '0/1s'"),
        arguments("--refill 1/0s 0s:1", refill + "a period must be positive, but was '0s'"),
        arguments(
            "--capacity 1 --strict 0s 0s:1",
            "Invalid value for option '--strict': a period must be positive, but was '0s'"),
        arguments(
            "--capacity x --manual 0s:1",
            "Invalid value for option '--capacity': " + number + "'x'"),
        arguments(
            "--initial -1 --refill 1/1s 0s:1",
            "Invalid value for option '--initial': " + number + "'-1'"),
        arguments("--capacity 0 --manual 0s:1", "capacity must be positive, but was 0"),
        arguments(
            "--capacity 9007199254740993 --manual 0s:1",
            "capacity must be at most 9007199254740992, but was 9007199254740993"),
        arguments(
            "--refill 10/1s --initial 11 0s:1", "initialTokens must be at most 10, but was 11"),
        arguments(
            "--refill 1/1s 1s:1 999ms:1",
            "request 2: times must not go back: 999ms comes after 1s"),
        arguments(
            "--refill 1/1s 0s:1x999999 0s:1x2",
            "request 2: at most 1000000 requests can be simulated: this would make 1000001"),
        arguments("--refill 1/1s", "no requests: give some, such as 0ms:7, or --file"),
        arguments(
            "--refill 1/1s --file x 0s:1",
            "requests come from --file or from arguments, not from both"),
        arguments("--refill 1/1s --file -", "there is no request in standard input"),
        arguments("--refill 1/1s 0s:1 -", "request 2: " + REQUEST_RULE + "'-'"),
        arguments("--refill 1/1s --wat 0s:1", "unknown option '--wat'; did you mean --wait?"));
  }

  @ParameterizedTest
  @MethodSource("refusedArguments")
  void arguments_refused(String arguments, String sentence) {
    assertRefused(Cli.run(("simulate " + arguments).split(" ")), sentence);
  }

  @Test
  void limit_outOfRange() {
    assertThat(
            Cli.run("simulate", "--capacity", "9007199254740992", "--refill", "1/1d", "0s:1").err())
        .startsWith("sluice simulate: limit is out of range: a bucket must fill within")
        .hasLineCount(1);
  }

  @Test
  void file_unreadable(@TempDir Path folder) throws IOException {
    assertRefused(
        readFrom(folder.resolve("none")),
        "cannot read '" + folder.resolve("none") + "': no such file");
    assertRefused(readFrom(folder), "cannot read '" + folder + "': Is a directory");
  }

  @Test
  void file_malformed(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("f");
    Files.writeString(file, "0s:1\n1s:y\n");
    assertRefused(readFrom(file), file + ", line 2: " + TOKENS_RULE + "'y'");
    Files.writeString(file, "2s:1\n1s:1");
    assertRefused(readFrom(file), file + ", line 2: times must not go back: 1s comes after 2s");
    Files.writeString(file, "\n" + "#".repeat(10_001));
    assertRefused(readFrom(file), file + ", line 2: a line has at most 10000 characters");
    Files.write(file, new byte[] {'0', 's', ':', (byte) 0xff});
    assertRefused(readFrom(file), file + ", line 1: " + TOKENS_RULE + "'\ufffd'");
    Files.writeString(file, "# nothing\n");
    assertRefused(readFrom(file), "there is no request in " + file);
  }

  private static Cli readFrom(Path file) {
    return Cli.run("simulate", "--refill", "1/1s", "--file", file.toString());
  }
}
