package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.redis.internal.connection.MembershipConfig;
import java.util.List;
import java.util.stream.Stream;

/**
 * The keys of a model in Redis, all in one slot of a cluster. The number in every key is the
 * version of the layout; other key names or stored fields need another version.
 *
 * @param prefix the prefix of all keys
 * @param tag the tag of the model
 */
public record ModelKeys(String prefix, String tag) {
  private static final int SCHEMA = 2;

  private static final String LAYOUT = SCHEMA + ":";

  public static ModelKeys of(String prefix, String model) {
    return new ModelKeys(prefix, BudgetStoreSupport.tagOf(model));
  }

  /** Returns the key of the members of the fleet. */
  static String members(String prefix) {
    return prefix + LAYOUT + "{fleet}:members";
  }

  /** Returns the key of the layout version, which is not part of this key. */
  static MembershipConfig.Schema schema(String prefix) {
    return new MembershipConfig.Schema(
        prefix + "{fleet}:schema", SCHEMA, List.of(prefix + "1:{fleet}:nodes"));
  }

  private String key(String name) {
    return prefix + LAYOUT + '{' + tag + "}:" + name;
  }

  /** Returns all keys, in the order of {@code model_state.lua}. */
  public String[] all() {
    return Stream.of("books", "due", "line", "heads", "turns", "fifo", "refused", "over")
        .map(this::key)
        .toArray(String[]::new);
  }

  /** Returns the channel of notices about decisions for other nodes. */
  public String channel() {
    return key("books") + ":news";
  }
}
