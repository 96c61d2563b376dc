package dev.sluice.server;

import java.util.Arrays;
import java.util.List;

/**
 * Every route and RPC, what a key has to allow for it, and a request that gets as far as that
 * check.
 *
 * <p>Needed is a permission, or several with a plus between them; {@code some} and kinds, for one
 * of these on any name; {@code any} for any valid key; or {@code open} for no key at all. There is
 * no queue q, so that allowed calls end, too. {@link AccessScenarios} has what depends on which
 * queues there are, and on what messages name.
 */
final class AccessTable {
  static final String OPEN = "open";
  static final String ANY = "any";
  private static final String SOME = "some ";
  private static final List<String> KINDS =
      List.of("produce", "consume", "limit", "governor", "read", "admin");

  private static final String TABLE =
      """
      GET /v1/queues | some read |
      POST /v1/queues | admin:made | {"name":"made"}
      GET /v1/queues/{queue} | read:q |
      PUT /v1/queues/{queue} | admin:q | {}
      PATCH /v1/queues/{queue} | admin:q | {"max_attempts":1}
      DELETE /v1/queues/{queue} | admin:q |
      GET /v1/queues/{queue}/fairness-keys | read:q |
      POST /v1/queues/{queue}/messages | produce:q | {"payload":"x"}
      POST /v1/queues/{queue}/receive | consume:q | {}
      POST /v1/queues/{queue}/settle | consume:q | {"settlements":[]}
      POST /v1/queues/{queue}/purge | admin:q | {}
      GET /v1/queues/{queue}/browse | read:q |
      POST /v1/queues/{queue}/redrive | admin:q + produce:q | {}
      GET /v1/limits | some read |
      GET /v1/limits/{name} | read:k |
      PUT /v1/limits/{name} | admin:k | {"rate_per_second":1,"burst":1}
      DELETE /v1/limits/{name} | admin:k |
      POST /v1/decide | limit:k | {"costs":{"k":1}}
      POST /v1/governor/requests | governor:* | {"model":"m","tokens":1}
      POST /v1/governor/explain | governor:* | {"model":"m","tokens":1}
      GET /v1/governor/tickets/{id} | some governor |
      DELETE /v1/governor/tickets/{id} | some governor |
      GET /v1/governor/tickets/{id}/events | some governor |
      POST /v1/governor/reservations/{id}/settle | some governor | {"actualTokens":1}
      POST /v1/governor/reservations/{id}/extend | some governor |
      POST /v1/governor/models/{model}/feedback | governor:feedback:m | {"status":200}
      GET /v1/governor/models/{model}/waiting-list | read:model:m |
      GET /v1/governor/status | some read or governor |
      POST /v1/governor/reload | admin:* |
      GET /v1/config | admin:* |
      GET /v1/config/{key} | admin:* |
      PUT /v1/config/{key} | admin:* | {"value":"v"}
      DELETE /v1/config/{key} | admin:* |
      GET /v1/throttles | some read |
      GET /v1/throttles/{key}/waiters | read:k |
      PUT /v1/throttles/{key} | admin:* | {"rate_per_second":1,"burst":1}
      DELETE /v1/throttles/{key} | admin:* |
      GET /v1/api-keys | some admin |
      POST /v1/api-keys | some admin | {"name":"k"}
      GET /v1/api-keys/{id} | some admin |
      DELETE /v1/api-keys/{id} | some admin |
      PUT /v1/api-keys/{id}/permissions | some admin | {"permissions":[]}
      GET /v1/info | any |
      GET /v1/whoami | any |
      GET /v1/events | some read |
      GET /metrics | read:* |
      GET /healthz | open |
      GET /readyz | open |
      GET /openapi.json | open |
      GET / | open |
      HEAD / | open |
      GET /console/{file} | open |
      HEAD /console/{file} | open |
      sluice.v1.Queues/Enqueue | produce:q | queue: "q" messages {}
      sluice.v1.Queues/EnqueueStream | produce:q | queue: "q" messages {}
      sluice.v1.Queues/Receive | consume:q | queue: "q"
      sluice.v1.Queues/Consume | consume:q | open { queue: "q" prefetch: 1 }
      sluice.v1.Queues/Settle | consume:q | queue: "q"
      sluice.v1.Queues/CreateQueue | admin:made | name: "made"
      sluice.v1.Queues/UpdateQueue | admin:q | name: "q"
      sluice.v1.Queues/DeleteQueue | admin:q | name: "q"
      sluice.v1.Queues/GetQueue | read:q | name: "q"
      sluice.v1.Queues/ListQueues | some read |
      sluice.v1.Queues/PurgeQueue | admin:q | name: "q"
      sluice.v1.Queues/BrowseMessages | read:q | queue: "q"
      sluice.v1.Queues/Redrive | admin:q + produce:q | dead_letter_queue: "q"
      sluice.v1.Limits/Decide | limit:k | costs { limit_name: "k" }
      sluice.v1.Limits/DecideStream | limit:k | requests { costs { limit_name: "k" } }
      sluice.v1.Limits/SetLimit | admin:k | limit { name: "k" rate_per_second: 1 burst: 1 }
      sluice.v1.Limits/RemoveLimit | admin:k | name: "k"
      sluice.v1.Limits/ListLimits | some read |
      sluice.v1.Governor/RequestTokens | governor:* | request { model: "m" tokens: 1 }
      sluice.v1.Governor/PollTicket | some governor | ticket: "x"
      sluice.v1.Governor/WatchTicket | some governor | ticket: "x"
      sluice.v1.Governor/CancelTicket | some governor | ticket: "x"
      sluice.v1.Governor/SettleReservation | some governor | reservation: "x"
      sluice.v1.Governor/ExtendReservation | some governor | reservation: "x"
      sluice.v1.Governor/ExplainTokens | governor:* | request { model: "m" tokens: 1 }
      sluice.v1.Governor/ReportFeedback | governor:feedback:m | model: "m" status: 200
      sluice.v1.Governor/GetGovernorStatus | some read or governor |
      sluice.v1.Governor/ReloadBudgets | admin:* |
      sluice.v1.Admin/SetConfig | admin:* | key: "k" value: "v"
      sluice.v1.Admin/GetConfig | admin:* | key: "k"
      sluice.v1.Admin/RemoveConfig | admin:* | key: "k"
      sluice.v1.Admin/ListConfig | admin:* |
      sluice.v1.Admin/SetThrottle | admin:* | key: "k" rate_per_second: 1 burst: 1
      sluice.v1.Admin/RemoveThrottle | admin:* | key: "k"
      sluice.v1.Admin/ListThrottles | some read |
      sluice.v1.Admin/CreateApiKey | some admin | name: "k"
      sluice.v1.Admin/RevokeApiKey | some admin | id: "x"
      sluice.v1.Admin/ListApiKeys | some admin |
      sluice.v1.Admin/SetPermissions | some admin | id: "x"
      sluice.v1.Admin/GetServerInfo | any |
      sluice.v1.Admin/WhoAmI | any |
      fila.v1.FilaService/Enqueue | produce:q | queue: "q"
      fila.v1.FilaService/Consume | consume:q | queue: "q"
      fila.v1.FilaService/Ack | consume:q | queue: "q"
      fila.v1.FilaService/Nack | consume:q | queue: "q"
      fila.v1.FilaAdmin/CreateQueue | admin:made | name: "made"
      fila.v1.FilaAdmin/DeleteQueue | admin:q | queue: "q"
      fila.v1.FilaAdmin/SetConfig | admin:* | key: "k" value: "v"
      fila.v1.FilaAdmin/GetConfig | admin:* | key: "k"
      fila.v1.FilaAdmin/ListConfig | admin:* |
      fila.v1.FilaAdmin/GetStats | read:q | queue: "q"
      fila.v1.FilaAdmin/Redrive | admin:q + produce:q | dlq_queue: "q"
      fila.v1.FilaAdmin/ListQueues | some read |
      fila.v1.FilaAdmin/CreateApiKey | some admin | name: "k"
      fila.v1.FilaAdmin/RevokeApiKey | admin:* | key_id: "x"
      fila.v1.FilaAdmin/ListApiKeys | admin:* |
      fila.v1.FilaAdmin/SetAcl | some admin | key_id: "x"
      fila.v1.FilaAdmin/GetAcl | admin:* | key_id: "x"
      """;

  private AccessTable() {}

  /**
   * A row.
   *
   * @param name method and template of a route, or the full name of an RPC
   * @param needed what a key has to allow
   * @param request JSON, or a message in protobuf's text format
   */
  record Row(String name, String needed, String request) {
    /** The permissions of keys that lack one required permission. */
    List<List<String>> tooLittle() {
      if (needed.equals(OPEN) || needed.equals(ANY)) {
        return List.of(List.of());
      }
      return needed.startsWith(SOME)
          ? List.of(KINDS.stream().filter(kind -> !isSome(kind)).map(kind -> kind + ":*").toList())
          : parts().stream().map(Row::allBut).toList();
    }

    /** The permissions of keys with exactly those required; {@code admin} includes {@code read}. */
    List<List<String>> enough() {
      if (needed.equals(OPEN) || needed.equals(ANY)) {
        return List.of(List.of());
      }
      if (needed.startsWith(SOME)) {
        return KINDS.stream().filter(this::isSome).map(kind -> List.of(kind + ":some")).toList();
      }
      return needed.startsWith("read:")
          ? List.of(parts(), List.of(needed.replaceFirst("read", "admin")))
          : List.of(parts());
    }

    private boolean isSome(String kind) {
      return needed.contains(kind) || (kind.equals("admin") && needed.contains("read"));
    }

    private List<String> parts() {
      return List.of(needed.split(" \\+ "));
    }

    /** All kinds for all names, but for those kinds that include {@code part}. */
    private static List<String> allBut(String part) {
      String missing = part.substring(0, part.indexOf(':'));
      String elsewhere = part.endsWith(":*") ? ":q" : ":other";
      return KINDS.stream()
          .map(
              kind ->
                  kind.equals(missing) || (missing.equals("read") && kind.equals("admin"))
                      ? kind + elsewhere
                      : kind + ":*")
          .toList();
    }
  }

  static List<Row> rows() {
    return TABLE.lines().map(AccessTable::row).toList();
  }

  private static Row row(String line) {
    List<String> parts = Arrays.stream(line.split("\\|", -1)).map(String::strip).toList();
    return new Row(parts.get(0), parts.get(1), parts.get(2));
  }
}
