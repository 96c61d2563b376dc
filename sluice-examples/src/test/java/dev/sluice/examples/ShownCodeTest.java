package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Java that the documentation shows is a part of some test, which runs it. */
final class ShownCodeTest {
  /** Checks between the lines of an example are no part of it. */
  private static final Pattern CHECK =
      Pattern.compile("(?m)^ *(?:assertThat|await)\\((?:[^\";]|\"[^\"]*\")*;\\n");

  private static final int FEWEST_BLOCKS = 25;

  @Test
  void javaBlocks_arePartsOfTests() {
    List<String> sources =
        Pages.sources().stream()
            .filter(file -> file.toString().contains("/src/test/"))
            .map(file -> stripped(CHECK.matcher(Pages.read(file)).replaceAll("")))
            .toList();
    List<String> strange = new ArrayList<>();
    int blocks = 0;
    for (Path page : Pages.all()) {
      for (Pages.Block block : Pages.blocks(Pages.read(page))) {
        if (block.language().equals("java")) {
          blocks++;
          String code = stripped(block.code());
          if (sources.stream().noneMatch(source -> source.contains(code))) {
            strange.add(Pages.ROOT.relativize(page) + ":\n" + block.code());
          }
        }
      }
    }
    assertThat(strange).isEmpty();
    assertThat(blocks).isGreaterThanOrEqualTo(FEWEST_BLOCKS);
  }

  /** The formatter may break lines where a page need not; tests take any port. */
  private static String stripped(String code) {
    return code.replaceAll("\\s+", "")
        .replace("\"localhost\",port)", "\"localhost\",5555)")
        .replace("\"localhost\",server.grpcPort())", "\"localhost\",5555)");
  }
}
