package dev.sluice.redis;

import dev.sluice.redis.link.Membership;
import java.util.List;

/**
 * Where things are in Redis. The number in every key is that of the layout of its value.
 *
 * @param prefix what every key begins with
 */
record KeySpace(String prefix) {
  static final int SCHEMA = 2;

  private static final String LAYOUT = SCHEMA + ":";

  String bucket(String name) {
    return prefix + LAYOUT + "b:" + name;
  }

  String key(String key) {
    return prefix + LAYOUT + "k:" + key;
  }

  /** The members of the fleet; in the same slot as the rules. */
  String members() {
    return prefix + LAYOUT + "{fleet}:members";
  }

  /** The layout of what is stored; not in a key that has it. */
  Membership.Schema schema() {
    String first = prefix + "1:{fleet}:";
    return new Membership.Schema(
        prefix + "{fleet}:schema", SCHEMA, List.of(first + "nodes", first + "rules"));
  }

  /** Rules have had the same layout since the first version. */
  String rules() {
    return prefix + "1:{fleet}:rules";
  }

  /** Rules that were changed since Redis lost those before. */
  String told() {
    return prefix + "1:{fleet}:told";
  }
}
