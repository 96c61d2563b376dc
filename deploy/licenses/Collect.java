import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * Extracts the license and notice files of libraries: {@code java Collect.java LIB DIR}. One JVM for all of them; the
 * command {@code jar} would be started twice for each.
 */
final class Collect {
  private static final Pattern TEXT = Pattern.compile("(?:.*/)?(?:LICENSE|NOTICE|COPYING)[^/]*");

  private Collect() {}

  public static void main(String[] args) throws IOException {
    Path target = Path.of(args[1]);
    for (Path library : libraries(Path.of(args[0]))) {
      String file = library.getFileName().toString();
      extract(library, target.resolve(file.substring(0, file.length() - ".jar".length())));
    }
  }

  /** Those of others. */
  private static List<Path> libraries(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(each -> each.toString().endsWith(".jar"))
          .filter(each -> !each.getFileName().toString().startsWith("sluice-"))
          .sorted()
          .toList();
    }
  }

  private static void extract(Path library, Path target) throws IOException {
    try (ZipFile zip = new ZipFile(library.toFile(), UTF_8)) {
      List<? extends ZipEntry> texts = zip.stream().filter(Collect::isText).toList();
      for (ZipEntry entry : texts) {
        Path file = target.resolve(entry.getName()).normalize();
        if (!file.startsWith(target)) {
          throw new IOException(library + " has an entry that leads outside: " + entry.getName());
        }
        Files.createDirectories(file.getParent());
        try (InputStream content = zip.getInputStream(entry)) {
          Files.copy(content, file);
        }
      }
    }
  }

  private static boolean isText(ZipEntry entry) {
    String name = entry.getName();
    return TEXT.matcher(name).matches() && !name.endsWith(".class");
  }
}
