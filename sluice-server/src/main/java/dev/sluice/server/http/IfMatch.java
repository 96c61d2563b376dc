package dev.sluice.server.http;

import dev.sluice.server.support.ApiException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The condition of an {@code If-Match} field, as RFC 9110 defines it in section 13.1.1: the request
 * is applied only if the resource has one of the listed tags. A weak tag matches nothing.
 *
 * @param tags the strong ones as they are between their quotes, the weak ones as they came; empty
 *     if every revision matches
 */
public record IfMatch(List<String> tags) {
  /** The value that matches every revision. */
  private static final String ANY = "*";

  /** An element of the list, which may be empty, and the comma after it. */
  private static final Pattern ELEMENT =
      Pattern.compile("\\G[ \\t]*+(W/)?+(?:\"([\\x21\\x23-\\x7e\\x80-\\xff]*+)\")?+[ \\t]*+(,|$)");

  public IfMatch {
    tags = List.copyOf(tags);
  }

  /**
   * Reads the field; several of them are one list.
   *
   * @throws ApiException if it is neither {@code *} nor a list of tags
   */
  public static IfMatch of(String field) {
    if (field.strip().equals(ANY)) {
      return new IfMatch(List.of());
    }
    List<String> tags = new ArrayList<>();
    Matcher element = ELEMENT.matcher(field);
    int end = 0;
    while (end < field.length() && element.find()) {
      String opaque = element.group(2);
      boolean weak = element.group(1) != null;
      if (opaque != null) {
        tags.add(weak ? "W/\"" + opaque + "\"" : opaque);
      } else if (weak) {
        break;
      }
      end = element.end();
    }
    if (end < field.length() || tags.isEmpty()) {
      throw ApiException.invalid(
          "If-Match must be * or a list of ETags with their quotes, as GET answers them, but was "
              + field);
    }
    return new IfMatch(tags);
  }

  public boolean isAny() {
    return tags.isEmpty();
  }

  /** Returns {@code present} if it is listed, and otherwise a text that is no revision of it. */
  public String expected(String present) {
    return tags.contains(present) ? present : String.join(", ", tags);
  }
}
