package dev.sluice.internal.limits;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The templates in force, the longest prefix first.
 *
 * @param longestFirst no two with the same prefix
 */
record LimitTemplates(List<LimitTemplate> longestFirst) {
  static final LimitTemplates NONE = new LimitTemplates(List.of());

  /** The template with the longest prefix of {@code key}. */
  @Nullable LimitTemplate match(String key) {
    // By index: an iterator would be an allocation for every key without a bucket.
    for (int i = 0; i < longestFirst.size(); i++) {
      LimitTemplate template = longestFirst.get(i);
      if (key.startsWith(template.prefix)) {
        return template;
      }
    }
    return null;
  }

  @Nullable LimitTemplate withPrefix(String prefix) {
    for (LimitTemplate template : longestFirst) {
      if (template.prefix.equals(prefix)) {
        return template;
      }
    }
    return null;
  }

  /** Returns these templates and {@code added}; templates that may lose keys to it are renewed. */
  LimitTemplates with(LimitTemplate added) {
    List<LimitTemplate> next = new ArrayList<>();
    for (LimitTemplate template : longestFirst) {
      if (!template.prefix.equals(added.prefix)) {
        boolean losesKeys = added.prefix.startsWith(template.prefix);
        next.add(losesKeys ? template.renewed() : template);
      }
    }
    next.add(added);
    next.sort(
        Comparator.comparingInt((LimitTemplate template) -> template.prefix.length()).reversed());
    return new LimitTemplates(List.copyOf(next));
  }

  LimitTemplates without(String prefix) {
    return new LimitTemplates(
        longestFirst.stream().filter(template -> !template.prefix.equals(prefix)).toList());
  }

  /** Retires the templates that {@code next} replaces. */
  void retireAllBut(LimitTemplates next) {
    for (LimitTemplate template : longestFirst) {
      if (!next.longestFirst.contains(template)) {
        template.retire();
      }
    }
  }
}
