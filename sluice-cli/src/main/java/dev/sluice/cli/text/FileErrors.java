package dev.sluice.cli.text;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Says which file cannot be used, and why. */
public final class FileErrors {
  private FileErrors() {}

  public static InvalidInputException cannotRead(String file, IOException failure) {
    return new InvalidInputException(
        "cannot read %s: %s".formatted(Quoting.of(file), reason(failure)));
  }

  public static InvalidInputException cannotWrite(Path file, IOException failure) {
    return cannotWrite(file, reason(failure));
  }

  /** Refuses a place where a file cannot be, before there is something to write. */
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
      return "no UTF-8";
    }
    // The message of these begins with the file, which is named already.
    return failure instanceof FileSystemException system && system.getReason() != null
        ? system.getReason()
        : String.valueOf(failure.getMessage());
  }
}
