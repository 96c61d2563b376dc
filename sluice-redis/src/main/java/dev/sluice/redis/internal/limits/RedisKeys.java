package dev.sluice.redis.internal.limits;

import dev.sluice.redis.internal.connection.MembershipConfig;
import java.util.List;

/**
 * Where things are in Redis. The number in every key is that of the layout of its value.
 *
 * @param prefix what every key begins with
 */
public record RedisKeys(String prefix) {
  static final int SCHEMA = 2;

  private static final String LAYOUT = SCHEMA + ":";

  public String bucket(String name) {
    return prefix + LAYOUT + "b:" + name;
  }

  public String key(String key) {
    return prefix + LAYOUT + "k:" + key;
  }

  /** The members of the fleet; in the same slot as the rules. */
  public String members() {
    return prefix + LAYOUT + "{fleet}:members";
  }

  /** The layout of what is stored; not in a key that has it. */
  public MembershipConfig.Schema schema() {
    String first = prefix + "1:{fleet}:";
    return new MembershipConfig.Schema(
        prefix + "{fleet}:schema", SCHEMA, List.of(first + "nodes", first + "rules"));
  }

  /** Rules have had the same layout since the first version. */
  public String rules() {
    return prefix + "1:{fleet}:rules";
  }

  /** Rules that were changed since Redis lost those before. */
  public String told() {
    return prefix + "1:{fleet}:told";
  }
}
