package dev.sluice.governor.redis.store;

import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.redis.connection.MembershipConfig;
import java.util.List;
import java.util.stream.Stream;

/**
 * Where a model is in Redis, all in one slot of a cluster. The number in every key is that of the
 * layout of its value.
 *
 * @param prefix what every key begins with
 * @param tag of the model
 */
public record ModelKeys(String prefix, String tag) {
  private static final int SCHEMA = 2;

  private static final String LAYOUT = SCHEMA + ":";

  public static ModelKeys of(String prefix, String model) {
    return new ModelKeys(prefix, BudgetStoreSupport.tagOf(model));
  }

  /** The members of the fleet. */
  static String members(String prefix) {
    return prefix + LAYOUT + "{fleet}:members";
  }

  /** The layout of what is stored; not in a key that has it. */
  static MembershipConfig.Schema schema(String prefix) {
    return new MembershipConfig.Schema(
        prefix + "{fleet}:schema", SCHEMA, List.of(prefix + "1:{fleet}:nodes"));
  }

  private String key(String name) {
    return prefix + LAYOUT + '{' + tag + "}:" + name;
  }

  /** In the order in which the scripts have them. */
  public String[] all() {
    return Stream.of("books", "due", "line", "heads", "turns", "fifo", "refused", "over")
        .map(this::key)
        .toArray(String[]::new);
  }

  /** Where is told what was decided for other nodes. */
  public String channel() {
    return key("books") + ":news";
  }
}
