package dev.sluice.cli.simulate;

import dev.sluice.cli.text.JsonWriter;

/**
 * Waits of requests that were not granted at once.
 *
 * @param served how many got them later
 * @param unserved how many never did
 * @param longestNanos the longest that one of the served waited
 */
record WaitSummary(long served, long unserved, long longestNanos) {
  JsonWriter json() {
    return JsonWriter.object()
        .put("served", served)
        .put("unserved", unserved)
        .put("longestNanos", longestNanos);
  }
}
