package dev.sluice.redis.internal.limits;

import dev.sluice.redis.internal.connection.LuaScript;

/** The Lua scripts of limits. Each runs atomically in Redis. */
public enum LimitScript implements LuaScript {
  /** Takes tokens of all buckets of a request, or of none. */
  DECIDE("decide_fast", "bucket", "decide"),
  /** Decides several requests about one bucket. */
  DECIDE_BATCH("bucket", "decide_batch"),
  /** Reads a bucket, adds tokens, fills it, or changes its limit. */
  ADJUST("bucket", "adjust"),
  /** Takes back a token block, and lends another one or takes tokens. */
  TOKEN_BLOCK("bucket", "token_block"),
  /** Reads or changes the named limits of the fleet. */
  LIMITS("limits");

  private final String body;
  private final String digest;

  LimitScript(String... parts) {
    LuaScript text = LuaScript.guarded(LimitScript.class, parts);
    body = text.body();
    digest = text.digest();
  }

  @Override
  public String body() {
    return body;
  }

  @Override
  public String digest() {
    return digest;
  }
}
