package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.text.FileErrors;
import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Errors of the operating system for files, independent of the user who runs the tests. */
final class FileFailuresTest {
  private static void assertReason(IOException failure, String reason) {
    assertThat(FileErrors.cannotRead("f", failure)).hasMessage("cannot read 'f': " + reason);
    assertThat(FileErrors.cannotWrite(Path.of("f"), failure))
        .hasMessage("cannot write 'f': " + reason);
  }

  @Test
  void reason_doesNotRepeatTheFile() {
    assertReason(new NoSuchFileException("f"), "no such file");
    assertReason(new AccessDeniedException("f"), "permission denied");
    assertReason(new MalformedInputException(1), "not UTF-8");
    assertReason(
        new FileSystemException("f", null, "Read-only file system"), "Read-only file system");
    assertReason(new IOException("Is a directory"), "Is a directory");
  }
}
