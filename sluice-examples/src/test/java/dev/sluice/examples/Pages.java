package dev.sluice.examples;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The pages of the documentation, and other files of the repository. */
final class Pages {
  /** Tests run in the folder of their module. */
  static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  private static final Pattern FENCE = Pattern.compile("(?m)^```([a-z]*)\\n((?:.*\\n)*?)```$");

  private Pages() {}

  /** A block of code, and what it says it is: {@code java}, or nothing for what is typed. */
  record Block(String language, String code) {}

  static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static String read(String path) {
    return read(ROOT.resolve(path));
  }

  /** Those that people read: in the root, in docs, and of the modules. */
  static List<Path> all() {
    try (Stream<Path> files = Files.walk(ROOT)) {
      return files
          .filter(file -> file.toString().endsWith(".md"))
          .filter(file -> !ROOT.relativize(file).toString().matches(".*(target|node_modules)/.*"))
          .sorted()
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Java sources of all modules, those of tests too. */
  static List<Path> sources() {
    try (Stream<Path> modules = Files.list(ROOT)) {
      return modules
          .map(module -> module.resolve("src"))
          .filter(Files::isDirectory)
          .flatMap(Pages::javaFiles)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Stream<Path> javaFiles(Path folder) {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(file -> file.toString().endsWith(".java")).toList().stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static List<Block> blocks(String page) {
    return FENCE
        .matcher(page)
        .results()
        .map(fence -> new Block(fence.group(1), fence.group(2)))
        .toList();
  }

  /** Without blocks of code, which may have anything in them. */
  static String prose(String page) {
    return FENCE.matcher(page).replaceAll("");
  }

  static List<String> groups(Pattern pattern, String text) {
    return pattern.matcher(text).results().map((MatchResult found) -> found.group(1)).toList();
  }
}
