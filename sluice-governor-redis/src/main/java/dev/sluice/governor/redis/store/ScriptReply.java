package dev.sluice.governor.redis.store;

import java.util.List;

/**
 * What a script says: numbers, texts, and lists of these.
 *
 * @param parts in the order in which the script has them
 */
public record ScriptReply(List<?> parts) {
  int size() {
    return parts.size();
  }

  public long number(int index) {
    return (Long) parts.get(index);
  }

  String text(int index) {
    return String.valueOf(parts.get(index));
  }

  /** What kind of answer it is, if it begins with that. */
  char kind() {
    return text(0).charAt(0);
  }

  ScriptReply list(int index) {
    return new ScriptReply((List<?>) parts.get(index));
  }

  List<ScriptReply> lists() {
    return parts.stream().map(each -> new ScriptReply((List<?>) each)).toList();
  }
}
