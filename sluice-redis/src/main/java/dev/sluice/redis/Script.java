package dev.sluice.redis;

import dev.sluice.redis.link.LuaScript;

/** What runs inside Redis, each in one step. */
enum Script implements LuaScript {
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

  Script(String... parts) {
    LuaScript text = LuaScript.guarded(Script.class, parts);
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
