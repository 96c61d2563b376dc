package dev.sluice.cli.simulate;

import dev.sluice.cli.text.JsonWriter;

/** Sums over the requests of a period or of a whole simulation. */
final class RequestTotals {
  private final Count requested = new Count();
  private final Count granted = new Count();
  private final Count denied = new Count();

  /** Requests and the tokens they stand for. */
  static final class Count {
    private long requests;
    private long tokens;

    void add(long more, long tokensEach) {
      requests += more;
      tokens += more * tokensEach;
    }

    long requests() {
      return requests;
    }

    long tokens() {
      return tokens;
    }

    private JsonWriter json() {
      return JsonWriter.object().put("requests", requests).put("tokens", tokens);
    }
  }

  Count requested() {
    return requested;
  }

  Count granted() {
    return granted;
  }

  Count denied() {
    return denied;
  }

  /** Adds three properties to {@code object}. */
  JsonWriter putInto(JsonWriter object) {
    return object
        .put("requested", requested.json())
        .put("granted", granted.json())
        .put("denied", denied.json());
  }
}
