package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.text.TextTable;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;

class TableTest {

  @Test
  void print_alignsRight() {
    StringWriter text = new StringWriter();
    new TextTable<List<String>>(List.of("a", "long name"), row -> row)
        .print(List.of(List.of("1", "2"), List.of("1234", "x")), new PrintWriter(text));
    assertThat(text.toString().lines())
        .containsExactly(
            "   a  long name", //
            "   1          2",
            "1234          x");
  }
}
