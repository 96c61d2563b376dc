package dev.sluice.governor.redis;

import dev.sluice.governor.StoreTerms;
import java.util.stream.Stream;

/**
 * Where a model is in Redis, all in one slot of a cluster. The number in every key is that of the
 * layout of its value.
 *
 * @param prefix what every key begins with
 * @param tag of the model
 */
record ModelKeys(String prefix, String tag) {
  private static final String LAYOUT = "1:";

  static ModelKeys of(String prefix, String model) {
    return new ModelKeys(prefix, StoreTerms.tagOf(model));
  }

  /** Live nodes by when they were last seen. */
  static String nodes(String prefix) {
    return prefix + LAYOUT + "{fleet}:nodes";
  }

  private String key(String name) {
    return prefix + LAYOUT + '{' + tag + "}:" + name;
  }

  /** In the order in which the scripts have them. */
  String[] all() {
    return Stream.of("books", "due", "line", "heads", "turns", "fifo")
        .map(this::key)
        .toArray(String[]::new);
  }

  /** Where is told what was decided for other nodes. */
  String channel() {
    return key("books") + ":news";
  }
}
