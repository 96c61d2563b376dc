package dev.sluice.redis;

import dev.sluice.Limit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The rules of the fleet at one version: rates of keys, templates, and buckets that were
 * reconfigured. Immutable.
 */
final class Rules {
  static final Rules NONE = new Rules(0, new TreeMap<>());

  private static final char KEY = 'k';
  private static final char BUCKET = 'b';

  private final long version;

  /** As in Redis: {@link #KEY} or {@link #BUCKET} and its name, to the text of the limit. */
  private final SortedMap<String, String> fields;

  private final Map<String, Quota> exact = new HashMap<>();
  private final List<Template> templates = new ArrayList<>();

  private record Template(String prefix, Quota quota) {}

  private Rules(long version, SortedMap<String, String> fields) {
    this.version = version;
    this.fields = fields;
    fields.forEach(this::add);
    templates.sort(
        Comparator.comparingInt((Template template) -> template.prefix().length()).reversed());
  }

  private void add(String field, String text) {
    Quota quota = Quota.of(LimitText.read(text));
    if (isTemplate(field)) {
      templates.add(new Template(field.substring(1, field.length() - 1), quota));
    } else {
      exact.put(field, quota);
    }
  }

  private static boolean isTemplate(String field) {
    return field.charAt(0) == KEY && field.endsWith(Rule.TEMPLATE_END);
  }

  /** Fields that were written by something else are left out. */
  static Rules of(long version, Map<String, String> fields) {
    SortedMap<String, String> known = new TreeMap<>();
    fields.forEach(
        (field, text) -> {
          if (isReadable(field, text)) {
            known.put(field, text);
          }
        });
    return new Rules(version, known);
  }

  private static boolean isReadable(String field, String text) {
    if (field.length() < 2 || (field.charAt(0) != KEY && field.charAt(0) != BUCKET)) {
      return false;
    }
    try {
      Quota.of(LimitText.read(text));
      return true;
    } catch (IllegalArgumentException unknown) {
      return false;
    }
  }

  static Rules of(RememberedRules remembered) {
    Map<String, String> fields = new HashMap<>();
    for (Rule rule : remembered.rules()) {
      fields.put(
          fieldOfKey(rule.key()),
          LimitText.write(new Limit.Rate(rule.ratePerSecond(), rule.burst())));
    }
    return of(remembered.version(), fields);
  }

  static String fieldOfKey(String key) {
    return KEY + key;
  }

  static String fieldOfBucket(String name) {
    return BUCKET + name;
  }

  /** With one field changed, or removed if {@code text} is null; under another version. */
  Rules with(long newVersion, String field, @Nullable String text) {
    SortedMap<String, String> next = new TreeMap<>(fields);
    if (text == null) {
      next.remove(field);
    } else {
      next.put(field, text);
    }
    return new Rules(newVersion, next);
  }

  long version() {
    return version;
  }

  Map<String, String> fields() {
    return fields;
  }

  /** The quota of a key: its own, or that of the template with the longest prefix. */
  @Nullable Quota ofKey(String key) {
    Quota own = exact.get(fieldOfKey(key));
    if (own != null) {
      return own;
    }
    for (Template template : templates) {
      if (key.startsWith(template.prefix())) {
        return template.quota();
      }
    }
    return null;
  }

  /** The quota that was set for this key alone. */
  @Nullable Quota ofKeyAlone(String key) {
    return exact.get(fieldOfKey(key));
  }

  /** What a bucket was reconfigured to, if it was. */
  @Nullable Quota ofBucket(String name) {
    return exact.get(fieldOfBucket(name));
  }

  List<Rule> list() {
    List<Rule> rules = new ArrayList<>();
    fields.forEach(
        (field, text) -> {
          if (field.charAt(0) == KEY && LimitText.read(text) instanceof Limit.Rate rate) {
            rules.add(new Rule(field.substring(1), rate.perSecond(), rate.burst()));
          }
        });
    return List.copyOf(rules);
  }
}
