package dev.sluice.governor.redis.internal.store;

import java.util.List;

/**
 * A reply of a script: numbers, strings, and lists of these.
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

  /** Returns the letter with which the reply begins. */
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
