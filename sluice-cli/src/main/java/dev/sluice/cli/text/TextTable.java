package dev.sluice.cli.text;

import java.io.PrintWriter;
import java.util.List;
import java.util.function.Function;

/** Prints rows in right-aligned columns under a header; the first columns may be left-aligned. */
public final class TextTable<R> {
  private static final String GAP = "  ";

  private final int leftAligned;
  private final List<String> header;
  private final Function<R, List<String>> cells;

  /** Creates a table with these column names; {@code cells} maps a row to its cells. */
  public TextTable(List<String> header, Function<R, List<String>> cells) {
    this(0, header, cells);
  }

  /** Creates a table whose first columns are left-aligned. */
  public TextTable(int leftAligned, List<String> header, Function<R, List<String>> cells) {
    this.leftAligned = leftAligned;
    this.header = header;
    this.cells = cells;
  }

  /** Formats each row twice, so that a long table need not be held as text. */
  public void print(Iterable<R> rows, PrintWriter out) {
    int[] widths = new int[header.size()];
    widen(widths, header);
    for (R row : rows) {
      widen(widths, printable(row));
    }
    printLine(widths, header, out);
    for (R row : rows) {
      printLine(widths, printable(row), out);
    }
  }

  private List<String> printable(R row) {
    return cells.apply(row).stream().map(TerminalText::line).toList();
  }

  private static void widen(int[] widths, List<String> line) {
    for (int i = 0; i < widths.length; i++) {
      widths[i] = Math.max(widths[i], line.get(i).length());
    }
  }

  private void printLine(int[] widths, List<String> line, PrintWriter out) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < widths.length; i++) {
      text.append(i == 0 ? "" : GAP);
      String space = " ".repeat(widths[i] - line.get(i).length());
      text.append(i < leftAligned ? line.get(i) + space : space + line.get(i));
    }
    out.println(text.toString().stripTrailing());
  }
}
