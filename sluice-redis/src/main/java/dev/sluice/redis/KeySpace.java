package dev.sluice.redis;

/**
 * Where things are in Redis. The number in every key is that of the layout of its value.
 *
 * @param prefix what every key begins with
 */
record KeySpace(String prefix) {
  private static final String LAYOUT = "1:";

  String bucket(String name) {
    return prefix + LAYOUT + "b:" + name;
  }

  String key(String key) {
    return prefix + LAYOUT + "k:" + key;
  }

  /** Live nodes by when they were last seen; in the same slot as the rules. */
  String nodes() {
    return prefix + LAYOUT + "{fleet}:nodes";
  }

  String rules() {
    return prefix + LAYOUT + "{fleet}:rules";
  }

  /** Rules that were changed since Redis lost those before. */
  String told() {
    return prefix + LAYOUT + "{fleet}:told";
  }
}
