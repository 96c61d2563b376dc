package dev.sluice.redis.limits;

import dev.sluice.redis.connection.LuaScript;

/** What runs inside Redis, each in one step. */
public enum LimitScript implements LuaScript {
  /** Takes tokens of several keys, or of none. */
  DECIDE("quick", "bucket", "decide"),
  /** Decides several requests about one bucket. */
  MANY("bucket", "many"),
  /** Looks at a bucket, adds tokens or fills it. */
  ADJUST("bucket", "adjust"),
  /** Closes a block out on lease, and lends another one or takes tokens. */
  LEASE("bucket", "lease"),
  /** Reads or changes the rules of the fleet. */
  RULES("rules");

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
