package dev.sluice.governor.redis.internal.store;

import dev.sluice.redis.internal.connection.LuaScript;
import java.util.ArrayList;
import java.util.List;

/** The Lua scripts of budgets. Each runs atomically in Redis. */
public enum GovernorScript implements LuaScript {
  /** Grants, queues or denies a request. */
  REQUEST("request_fast", "request"),
  /** Polls, awaits or cancels tickets. */
  TICKET("", "ticket"),
  /** Settles or extends a reservation. */
  SETTLE("settle_fast", "settle"),
  /** Returns the state of a model, or predicts the decision of a request. */
  POLL("", "poll"),
  /** Changes the configuration of a model. */
  CONFIGURE("", "configure"),
  /** Adopts what a node decided during an outage. */
  REPORT("", "report"),
  /** Restores reservations that the stored state does not have. */
  RESTORE_GRANTS("", "restore_grants");

  private final String body;
  private final String digest;

  /** Creates a script; {@code fast} runs before the other parts are set up, if it is not empty. */
  GovernorScript(String fast, String last) {
    List<String> parts = new ArrayList<>(List.of("clock"));
    if (!fast.isEmpty()) {
      parts.add(fast);
    }
    parts.addAll(List.of("model_state", "buckets", "waiting_list", "forecast", "tickets", last));
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
