package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.support.FileWatcher;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Changes of watched files, by explicit checks instead of the timer. */
@Timeout(60)
final class FileWatchTest {
  @TempDir private Path dir;
  private Path certificate;
  private Path key;
  private FileWatcher watch;

  @BeforeEach
  void write() throws IOException {
    certificate = Files.writeString(dir.resolve("certificate"), "one");
    key = Files.writeString(dir.resolve("key"), "one");
    watch = new FileWatcher(List.of(certificate, key));
  }

  @AfterEach
  void close() {
    watch.close();
  }

  @Test
  void check_sameContents_isNoChange() throws IOException {
    assertThat(watch.check()).isFalse();
    Files.writeString(certificate, "one");
    assertThat(watch.check()).isFalse();
    assertThat(watch.check()).isFalse();
  }

  @Test
  void check_filesWrittenOneAfterTheOther_areOneChange() throws IOException {
    Files.writeString(certificate, "two");
    assertThat(watch.check()).isFalse();
    Files.writeString(key, "two");
    assertThat(watch.check()).isFalse();
    assertThat(watch.check()).isTrue();
    assertThat(watch.check()).isFalse();
  }

  @Test
  void check_missingFile_isAChangeAndItsReturnToo() throws IOException {
    Files.delete(key);
    assertThat(watch.check()).isFalse();
    assertThat(watch.check()).isTrue();
    assertThat(watch.check()).isFalse();
    Files.writeString(key, "one");
    assertThat(watch.check()).isFalse();
    assertThat(watch.check()).isTrue();
  }

  @Test
  void check_linkToAnotherFile_isAChange() throws IOException {
    Path other = Files.writeString(dir.resolve("other"), "two");
    Path link = Files.createSymbolicLink(dir.resolve("link"), key);
    try (FileWatcher linked = new FileWatcher(List.of(link))) {
      Files.delete(link);
      Files.createSymbolicLink(link, other);
      assertThat(linked.check()).isFalse();
      assertThat(linked.check()).isTrue();
    }
  }

  @Test
  void mark_presentContents_areKnown() throws IOException {
    Files.writeString(key, "two");
    assertThat(watch.check()).isFalse();
    watch.mark();
    assertThat(watch.check()).isFalse();
    assertThat(watch.check()).isFalse();
  }

  @Test
  void check_pipe_isNotRead() throws Exception {
    Path pipe = dir.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    try (FileWatcher piped = new FileWatcher(List.of(pipe))) {
      assertThat(piped.check()).isFalse();
    }
  }
}
