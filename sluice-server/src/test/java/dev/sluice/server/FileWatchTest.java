package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class FileWatchTest {
  @TempDir private Path dir;
  private Path certificate;
  private Path key;
  private FileWatch watch;

  @BeforeEach
  void write() throws IOException {
    certificate = Files.writeString(dir.resolve("certificate"), "one");
    key = Files.writeString(dir.resolve("key"), "one");
    watch = new FileWatch(List.of(certificate, key));
  }

  @AfterEach
  void close() {
    watch.close();
  }

  @Test
  void look_sameContents_isNoChange() throws IOException {
    assertThat(watch.look()).isFalse();
    Files.writeString(certificate, "one");
    assertThat(watch.look()).isFalse();
    assertThat(watch.look()).isFalse();
  }

  @Test
  void look_filesWrittenOneAfterTheOther_areOneChange() throws IOException {
    Files.writeString(certificate, "two");
    assertThat(watch.look()).isFalse();
    Files.writeString(key, "two");
    assertThat(watch.look()).isFalse();
    assertThat(watch.look()).isTrue();
    assertThat(watch.look()).isFalse();
  }

  @Test
  void look_missingFile_isAChangeAndItsReturnToo() throws IOException {
    Files.delete(key);
    assertThat(watch.look()).isFalse();
    assertThat(watch.look()).isTrue();
    assertThat(watch.look()).isFalse();
    Files.writeString(key, "one");
    assertThat(watch.look()).isFalse();
    assertThat(watch.look()).isTrue();
  }

  @Test
  void look_linkToAnotherFile_isAChange() throws IOException {
    Path other = Files.writeString(dir.resolve("other"), "two");
    Path link = Files.createSymbolicLink(dir.resolve("link"), key);
    try (FileWatch linked = new FileWatch(List.of(link))) {
      Files.delete(link);
      Files.createSymbolicLink(link, other);
      assertThat(linked.look()).isFalse();
      assertThat(linked.look()).isTrue();
    }
  }

  @Test
  void mark_presentContents_areKnown() throws IOException {
    Files.writeString(key, "two");
    assertThat(watch.look()).isFalse();
    watch.mark();
    assertThat(watch.look()).isFalse();
    assertThat(watch.look()).isFalse();
  }

  @Test
  void look_pipe_isNotRead() throws Exception {
    Path pipe = dir.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    try (FileWatch piped = new FileWatch(List.of(pipe))) {
      assertThat(piped.look()).isFalse();
    }
  }
}
