package dev.sluice.redis.internal.limits;

import dev.sluice.Limit;
import java.util.ArrayList;
import java.util.Collections;
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
public final class LimitTable {
  public static final LimitTable NONE = of(0, Map.of());

  private static final char KEY = 'k';
  private static final char BUCKET = 'b';

  private final long version;

  /** As in Redis: {@link #KEY} or {@link #BUCKET} and its name, to the text of the limit. */
  private final SortedMap<String, String> fields;

  private final Map<String, ScriptLimit> quotas;
  private final List<Template> templates;

  private record Template(String prefix, ScriptLimit quota) {}

  private LimitTable(
      long version,
      SortedMap<String, String> fields,
      Map<String, ScriptLimit> quotas,
      List<Template> templates) {
    this.version = version;
    this.fields = fields;
    this.quotas = quotas;
    this.templates = templates;
  }

  private static List<Template> templates(Map<String, ScriptLimit> quotas) {
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
    return field.charAt(0) == KEY && LimitNames.isTemplate(field);
  }

  /** Reads the fields of Redis; fields in another format are skipped. */
  static LimitTable of(long version, Map<String, String> fields) {
    SortedMap<String, String> known = new TreeMap<>();
    Map<String, ScriptLimit> quotas = new HashMap<>();
    fields.forEach(
        (field, text) -> {
          @Nullable ScriptLimit quota = quota(field, text);
          if (quota != null) {
            known.put(field, text);
            quotas.put(field, quota);
          }
        });
    return new LimitTable(version, known, quotas, templates(quotas));
  }

  private static @Nullable ScriptLimit quota(String field, String text) {
    if (field.length() < 2 || (field.charAt(0) != KEY && field.charAt(0) != BUCKET)) {
      return null;
    }
    try {
      Limit limit = LimitCodec.read(text);
      return field.charAt(0) == KEY && !isNamedLimit(field.substring(1), limit)
          ? null
          : ScriptLimit.of(limit);
    } catch (IllegalArgumentException unknown) {
      return null;
    }
  }

  private static boolean isNamedLimit(String name, Limit limit) {
    return LimitNames.isValid(name) && NamedLimit.isAllowed(limit);
  }

  static LimitTable of(CachedLimits cached) {
    Map<String, String> fields = new HashMap<>();
    cached
        .limits()
        .forEach((name, limit) -> fields.put(fieldOfName(name), LimitCodec.write(limit)));
    return of(cached.version(), fields);
  }

  static String fieldOfName(String name) {
    return KEY + name;
  }

  static String fieldOfBucket(String name) {
    return BUCKET + name;
  }

  /** Returns these limits with another version. */
  LimitTable at(long newVersion) {
    return new LimitTable(newVersion, fields, quotas, templates);
  }

  /** With one field changed, or removed if {@code text} is null; these if that changes nothing. */
  LimitTable with(String field, @Nullable String text) {
    if (Objects.equals(fields.get(field), text)) {
      return this;
    }
    SortedMap<String, String> next = new TreeMap<>(fields);
    Map<String, ScriptLimit> nextQuotas = new HashMap<>(quotas);
    if (text == null) {
      next.remove(field);
      nextQuotas.remove(field);
    } else {
      next.put(field, text);
      nextQuotas.put(field, ScriptLimit.of(LimitCodec.read(text)));
    }
    return new LimitTable(
        version, next, nextQuotas, isTemplate(field) ? templates(nextQuotas) : templates);
  }

  long version() {
    return version;
  }

  public Map<String, String> fields() {
    return fields;
  }

  /** Returns the limit of a name: its own, or that of the template with the longest prefix. */
  @Nullable ScriptLimit ofName(String name) {
    ScriptLimit own = quotas.get(fieldOfName(name));
    if (own != null) {
      return own;
    }
    for (Template template : templates) {
      if (name.startsWith(template.prefix())) {
        return template.quota();
      }
    }
    return null;
  }

  /** Returns the limit that was set for exactly this name. */
  @Nullable ScriptLimit ofNameAlone(String name) {
    return quotas.get(fieldOfName(name));
  }

  /** Returns the limit that a bucket was reconfigured to; null if it was not. */
  @Nullable ScriptLimit ofBucket(String name) {
    return quotas.get(fieldOfBucket(name));
  }

  /** Returns the named limits, templates included. */
  SortedMap<String, Limit> limits() {
    SortedMap<String, Limit> limits = new TreeMap<>();
    quotas.forEach(
        (field, quota) -> {
          if (field.charAt(0) == KEY) {
            limits.put(field.substring(1), quota.limit());
          }
        });
    return Collections.unmodifiableSortedMap(limits);
  }
}
