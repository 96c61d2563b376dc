package dev.sluice.cli;

/**
 * How those fared who did not get their tokens at once.
 *
 * @param served how many got them later
 * @param unserved how many never did
 * @param longestNanos the longest that one of the served waited
 */
record Waits(long served, long unserved, long longestNanos) {
  Json json() {
    return Json.object()
        .put("served", served)
        .put("unserved", unserved)
        .put("longestNanos", longestNanos);
  }
}
