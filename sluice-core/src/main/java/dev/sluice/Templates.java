package dev.sluice;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The templates in force, the longest prefix first.
 *
 * @param longestFirst no two with the same prefix
 */
record Templates(List<Template> longestFirst) {
  static final Templates NONE = new Templates(List.of());

  /** The template with the longest prefix of {@code key}. */
  @Nullable Template match(String key) {
    // By index: an iterator would be an allocation for every key without a bucket.
    for (int i = 0; i < longestFirst.size(); i++) {
      Template template = longestFirst.get(i);
      if (key.startsWith(template.prefix)) {
        return template;
      }
    }
    return null;
  }

  @Nullable Template withPrefix(String prefix) {
    for (Template template : longestFirst) {
      if (template.prefix.equals(prefix)) {
        return template;
      }
    }
    return null;
  }

  /** With this template too; those that may lose keys to it are renewed. */
  Templates with(Template added) {
    List<Template> next = new ArrayList<>();
    for (Template template : longestFirst) {
      if (!template.prefix.equals(added.prefix)) {
        boolean losesKeys = added.prefix.startsWith(template.prefix);
        next.add(losesKeys ? template.renewed() : template);
      }
    }
    next.add(added);
    next.sort(Comparator.comparingInt((Template template) -> template.prefix.length()).reversed());
    return new Templates(List.copyOf(next));
  }

  Templates without(String prefix) {
    return new Templates(
        longestFirst.stream().filter(template -> !template.prefix.equals(prefix)).toList());
  }

  /** Retires whatever is not in force any more, now that {@code next} is. */
  void retireAllBut(Templates next) {
    for (Template template : longestFirst) {
      if (!next.longestFirst.contains(template)) {
        template.retire();
      }
    }
  }
}
