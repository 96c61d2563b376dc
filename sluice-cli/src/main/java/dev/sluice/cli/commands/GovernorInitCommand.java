package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.BaseCommand;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.text.FileErrors;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.Quoting;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice governor init}. */
@Command(
    name = "init",
    description = "Write a budget file with one model and every setting.",
    footer = {
      "",
      "Edit the file, then start a server with it:",
      "  SLUICE_GOVERNOR_FILE=token-budget.json sluice serve"
    })
final class GovernorInitCommand extends BaseCommand {
  @Parameters(
      paramLabel = "FILE",
      arity = "0..1",
      description = "The file to write. Default: token-budget.json in this directory.")
  private Path file = Path.of("token-budget.json");

  @Option(names = "--force", description = "Replace an existing file.")
  private boolean force;

  @Override
  public Integer call() {
    FileErrors.requireWritable(file);
    try {
      Files.write(file, template(), options());
    } catch (FileAlreadyExistsException exists) {
      throw new InvalidInputException(
          "%s exists; --force replaces it".formatted(Quoting.of(file.toString())));
    } catch (IOException failure) {
      throw FileErrors.cannotWrite(file, failure);
    }
    out()
        .printf(
            "wrote %s: set the model's name and its tokens per minute, then%n"
                + "  SLUICE_GOVERNOR_FILE=%s sluice serve%n",
            file, file);
    out().flush();
    return ExitCodes.OK;
  }

  private OpenOption[] options() {
    return force
        ? new OpenOption[] {
          StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE
        }
        : new OpenOption[] {StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE};
  }

  private static byte[] template() {
    try (InputStream in =
        Objects.requireNonNull(
            GovernorInitCommand.class.getResourceAsStream("token-budget.json"),
            "token-budget.json")) {
      return in.readAllBytes();
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    }
  }
}
