package dev.sluice.governor.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The batch is killed again and again; in the end every chunk is in the output once. */
@Tag("any-jdk")
class ResumableBatchKillTest {
  private static final int KILLS = Integer.getInteger("sluice.kills", 2);
  private static final int CHUNKS_A_LIFE = 40;

  @TempDir Path directory;

  private Process start(int chunks) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            ResumableBatchMain.class.getName(),
            directory.toString(),
            String.valueOf(chunks))
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  @Test
  void killedInTheMiddle_losesNoChunk_andDoesNoneTwice() throws Exception {
    int chunks = (KILLS + 1) * CHUNKS_A_LIFE;
    Random random = new Random(1);
    for (int i = 0; i < KILLS; i++) {
      Process process = start(chunks);
      try (BufferedReader lines = process.inputReader()) {
        int more = 1 + random.nextInt(CHUNKS_A_LIFE - 1);
        for (int line = 0; line < more; line++) {
          assertThat(lines.readLine()).startsWith("chunk-");
        }
        process.destroyForcibly();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isNotZero();
      }
    }
    Process last = start(chunks);
    try (BufferedReader lines = last.inputReader()) {
      // It goes on, and does not begin again.
      assertThat(lines.readLine()).startsWith("chunk-").isNotEqualTo("chunk-0");
      while (lines.readLine() != null) {
        assertThat(last.isAlive() || last.exitValue() == 0).isTrue();
      }
    }
    assertThat(last.waitFor()).isZero();
    List<String> expected =
        ResumableBatchMain.chunks(chunks).stream().map(ResumableBatch.Chunk::id).toList();
    assertThat(Files.readAllLines(directory.resolve("output"))).isEqualTo(expected);
  }
}
