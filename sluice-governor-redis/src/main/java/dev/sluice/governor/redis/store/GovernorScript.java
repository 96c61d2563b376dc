package dev.sluice.governor.redis.store;

import dev.sluice.redis.connection.LuaScript;
import java.util.ArrayList;
import java.util.List;

/** What runs inside Redis, each in one step. */
public enum GovernorScript implements LuaScript {
  /** Grants, puts in line or refuses. */
  ASK("quick_ask", "ask"),
  /** Looks at tickets, waits for them, cancels them. */
  TICKET("", "ticket"),
  /** Settles a reservation, or lets it live on. */
  SETTLE("quick_settle", "settle"),
  /** Says how a model stands, or what would become of a request. */
  LOOK("", "look"),
  /** Changes the rules of a model. */
  RULES("", "rules"),
  /** Takes in what a node has decided while Redis was away. */
  REPORT("", "report"),
  /** Gives slots to grants that the books do not know, or know no more. */
  HOLD("", "hold");

  private final String body;
  private final String digest;

  /** {@code quick} is tried before the rest is even set up; empty for none. */
  GovernorScript(String quick, String last) {
    List<String> parts = new ArrayList<>(List.of("clock"));
    if (!quick.isEmpty()) {
      parts.add(quick);
    }
    parts.addAll(List.of("books", "meters", "line", "forecast", "tickets", last));
    LuaScript text = LuaScript.guarded(GovernorScript.class, parts.toArray(String[]::new));
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
