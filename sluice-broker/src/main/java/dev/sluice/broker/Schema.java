package dev.sluice.broker;

/** What rows look like. */
final class Schema {
  private Schema() {}
}
