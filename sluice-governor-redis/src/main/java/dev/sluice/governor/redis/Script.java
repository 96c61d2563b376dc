package dev.sluice.governor.redis;

import dev.sluice.redis.link.LuaScript;

/** What runs inside Redis, each in one step. */
enum Script implements LuaScript {
  /** Grants, puts in line or refuses. */
  ASK("ask"),
  /** Looks at tickets, waits for them, cancels them. */
  TICKET("ticket"),
  /** Settles a reservation, or lets it live on. */
  SETTLE("settle"),
  /** Says how a model stands, or what would become of a request. */
  LOOK("look"),
  /** Changes the rules of a model. */
  RULES("rules");

  private final String body;
  private final String digest;

  Script(String last) {
    LuaScript text =
        LuaScript.of(Script.class, "clock", "books", "meters", "line", "tickets", last);
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
