package dev.sluice.cli.text;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Creates exceptions for files that cannot be used, with the reason. */
public final class FileErrors {
  private FileErrors() {}

  public static InvalidInputException cannotRead(String file, IOException failure) {
    return new InvalidInputException(
        "cannot read %s: %s".formatted(Quoting.of(file), reason(failure)));
  }

  public static InvalidInputException cannotWrite(Path file, IOException failure) {
    return cannotWrite(file, reason(failure));
  }

  /** Throws if {@code file} cannot be written, before any work is done. */
  public static void requireWritable(Path file) {
    Path folder = file.toAbsolutePath().getParent();
    if (folder == null || Files.isDirectory(file)) {
      throw cannotWrite(file, "Is a directory");
    }
    if (!Files.isDirectory(folder)) {
      throw cannotWrite(file, "no such directory: " + Quoting.of(folder.toString()));
    }
    if (!Files.isWritable(Files.exists(file) ? file : folder)) {
      throw cannotWrite(file, "permission denied");
    }
  }

  private static InvalidInputException cannotWrite(Path file, String reason) {
    return new InvalidInputException(
        "cannot write %s: %s".formatted(Quoting.of(file.toString()), reason));
  }

  private static String reason(IOException failure) {
    if (failure instanceof NoSuchFileException) {
      return "no such file";
    }
    if (failure instanceof AccessDeniedException) {
      return "permission denied";
    }
    if (failure instanceof CharacterCodingException) {
      return "not UTF-8";
    }
    // The message of these exceptions begins with the file, which is named already.
    return failure instanceof FileSystemException system && system.getReason() != null
        ? system.getReason()
        : String.valueOf(failure.getMessage());
  }
}
