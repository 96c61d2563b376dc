package dev.sluice.redis;

import dev.sluice.Limit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The rules of the fleet at one version: rates of keys, templates, and buckets that were
 * reconfigured. Immutable.
 */
final class Rules {
  static final Rules NONE = of(0, Map.of());

  private static final char KEY = 'k';
  private static final char BUCKET = 'b';

  private final long version;

  /** As in Redis: {@link #KEY} or {@link #BUCKET} and its name, to the text of the limit. */
  private final SortedMap<String, String> fields;

  private final Map<String, Quota> quotas;
  private final List<Template> templates;

  private record Template(String prefix, Quota quota) {}

  private Rules(
      long version,
      SortedMap<String, String> fields,
      Map<String, Quota> quotas,
      List<Template> templates) {
    this.version = version;
    this.fields = fields;
    this.quotas = quotas;
    this.templates = templates;
  }

  private static List<Template> templates(Map<String, Quota> quotas) {
    List<Template> templates = new ArrayList<>();
    quotas.forEach(
        (field, quota) -> {
          if (isTemplate(field)) {
            templates.add(new Template(field.substring(1, field.length() - 1), quota));
          }
        });
    templates.sort(
        Comparator.comparingInt((Template template) -> template.prefix().length()).reversed());
    return templates;
  }

  private static boolean isTemplate(String field) {
    return field.charAt(0) == KEY && field.endsWith(Rule.TEMPLATE_END);
  }

  /** Fields that were written by something else are left out. */
  static Rules of(long version, Map<String, String> fields) {
    SortedMap<String, String> known = new TreeMap<>();
    Map<String, Quota> quotas = new HashMap<>();
    fields.forEach(
        (field, text) -> {
          @Nullable Quota quota = quota(field, text);
          if (quota != null) {
            known.put(field, text);
            quotas.put(field, quota);
          }
        });
    return new Rules(version, known, quotas, templates(quotas));
  }

  private static @Nullable Quota quota(String field, String text) {
    if (field.length() < 2 || (field.charAt(0) != KEY && field.charAt(0) != BUCKET)) {
      return null;
    }
    try {
      Limit limit = LimitText.read(text);
      return field.charAt(0) == KEY && !isRule(field.substring(1), limit) ? null : Quota.of(limit);
    } catch (IllegalArgumentException unknown) {
      return null;
    }
  }

  private static boolean isRule(String key, Limit limit) {
    boolean isPattern = key.indexOf('*') == key.length() - 1;
    return limit instanceof Limit.Rate && (isPattern || !key.endsWith(Rule.TEMPLATE_END));
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

  /** The same under another version. */
  Rules at(long newVersion) {
    return new Rules(newVersion, fields, quotas, templates);
  }

  /** With one field changed, or removed if {@code text} is null; these if that changes nothing. */
  Rules with(String field, @Nullable String text) {
    if (Objects.equals(fields.get(field), text)) {
      return this;
    }
    SortedMap<String, String> next = new TreeMap<>(fields);
    Map<String, Quota> nextQuotas = new HashMap<>(quotas);
    if (text == null) {
      next.remove(field);
      nextQuotas.remove(field);
    } else {
      next.put(field, text);
      nextQuotas.put(field, Quota.of(LimitText.read(text)));
    }
    return new Rules(
        version, next, nextQuotas, isTemplate(field) ? templates(nextQuotas) : templates);
  }

  long version() {
    return version;
  }

  Map<String, String> fields() {
    return fields;
  }

  /** The quota of a key: its own, or that of the template with the longest prefix. */
  @Nullable Quota ofKey(String key) {
    Quota own = quotas.get(fieldOfKey(key));
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
    return quotas.get(fieldOfKey(key));
  }

  /** What a bucket was reconfigured to, if it was. */
  @Nullable Quota ofBucket(String name) {
    return quotas.get(fieldOfBucket(name));
  }

  List<Rule> list() {
    List<Rule> rules = new ArrayList<>();
    for (String field : fields.keySet()) {
      @Nullable Quota quota = quotas.get(field);
      if (field.charAt(0) == KEY && quota != null && quota.limit() instanceof Limit.Rate rate) {
        rules.add(new Rule(field.substring(1), rate.perSecond(), rate.burst()));
      }
    }
    return List.copyOf(rules);
  }
}
