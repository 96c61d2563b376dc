package dev.sluice.governor.redis;

import java.util.List;

/**
 * What a script says: numbers, texts, and lists of these.
 *
 * @param parts in the order in which the script has them
 */
record Reply(List<?> parts) {
  int size() {
    return parts.size();
  }

  long number(int index) {
    return (Long) parts.get(index);
  }

  String text(int index) {
    return String.valueOf(parts.get(index));
  }

  /** What kind of answer it is, if it begins with that. */
  char kind() {
    return text(0).charAt(0);
  }

  Reply list(int index) {
    return new Reply((List<?>) parts.get(index));
  }

  List<Reply> lists() {
    return parts.stream().map(each -> new Reply((List<?>) each)).toList();
  }
}
