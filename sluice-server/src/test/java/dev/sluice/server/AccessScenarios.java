package dev.sluice.server;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * The calls a key may make, by existing queues and throttle keys of messages, in every protocol.
 *
 * <p>A scenario has the queues that exist, where V is a name of its own; what the key allows; what
 * it is used for; and whether that is allowed.
 */
final class AccessScenarios {
  /** Actions on queue $, each on every wire that has it: the call, and a request. */
  private static final String ACTIONS =
      """
      produce | POST /v1/queues/$/messages | {"payload":"x"}
      produce | sluice.v1.Queues/Enqueue | queue: "$" messages {}
      produce | fila.v1.FilaService/Enqueue | queue: "$"
      throttled | POST /v1/queues/$/messages | {"payload":"x","throttle_keys":{"t":1}}
      throttled | sluice.v1.Queues/Enqueue | queue: "$" messages { throttle_keys { key: "t" value: 1 } }
      throttled | sluice.v1.Queues/EnqueueStream | queue: "$" messages {throttle_keys {key:"t" value:1}}
      receive | POST /v1/queues/$/receive | {}
      receive | sluice.v1.Queues/Receive | queue: "$"
      settle | POST /v1/queues/$/settle | {"settlements":[]}
      settle | sluice.v1.Queues/Settle | queue: "$"
      settle | fila.v1.FilaService/Ack | queue: "$" message_id: "00000000-0000-0000-0000-00000000000a"
      show | GET /v1/queues/$ |
      show | sluice.v1.Queues/GetQueue | name: "$"
      show | fila.v1.FilaAdmin/GetStats | queue: "$"
      browse | GET /v1/queues/$/browse |
      browse | GET /v1/queues/$/fairness-keys |
      browse | sluice.v1.Queues/BrowseMessages | queue: "$"
      create | POST /v1/queues | {"name":"$"}
      create | sluice.v1.Queues/CreateQueue | name: "$"
      create | fila.v1.FilaAdmin/CreateQueue | name: "$"
      update | PUT /v1/queues/$ | {}
      update | PATCH /v1/queues/$ | {"max_attempts":1}
      update | sluice.v1.Queues/UpdateQueue | name: "$"
      update | sluice.v1.Queues/UpdateQueue | name: "$" update_mask { paths: "max_attempts" }
      purge | POST /v1/queues/$/purge | {}
      purge | sluice.v1.Queues/PurgeQueue | name: "$"
      delete | DELETE /v1/queues/$ |
      delete | sluice.v1.Queues/DeleteQueue | name: "$"
      delete | fila.v1.FilaAdmin/DeleteQueue | queue: "$"
      redrive | POST /v1/queues/$/redrive | {}
      redrive | sluice.v1.Queues/Redrive | dead_letter_queue: "$"
      redrive | fila.v1.FilaAdmin/Redrive | dlq_queue: "$"
      """;

  private static final String SCENARIOS =
      """
      V | produce:V | produce V.dlq | yes
      V | consume:V | receive V.dlq | yes
      V | consume:V | settle V.dlq | yes
      V | read:V | show V.dlq | yes
      V | read:V | browse V.dlq | yes
      V | admin:V | browse V.dlq | yes
      V | admin:V | update V.dlq | yes
      V | admin:V | purge V.dlq | yes
      V | admin:V | delete V.dlq | yes
      V | admin:V | delete V | yes
      V | admin:V consume:V read:V | produce V.dlq | no
      V | produce:V.dlq | produce V | no
      V | consume:V.dlq | receive V | no
      V | consume:V.dlq | settle V | no
      V | read:V.dlq | show V | no
      V | read:V.dlq | browse V | no
      V | admin:V.dlq | purge V | no
      V | admin:V.dlq | update V | no
      V | admin:V.dlq | delete V | no
      V | admin:V.dlq produce:V.dlq | redrive V.dlq | no
      V | admin:V | redrive V.dlq | no
      V | produce:V | redrive V.dlq | no
      V | read:V produce:V | redrive V.dlq | no
      V | admin:V.dlq produce:V | redrive V.dlq | yes
      V | admin:V produce:V | redrive V.dlq | yes
      V.dlq | produce:V | produce V.dlq | no
      V.dlq | consume:V | receive V.dlq | no
      V.dlq | read:V | browse V.dlq | no
      V.dlq | admin:V | purge V.dlq | no
      V.dlq | admin:V | delete V.dlq | no
      V.dlq | admin:V produce:V | redrive V.dlq | no
      V.dlq | admin:V.dlq | purge V.dlq | yes
      V.dlq | admin:V | create V | no
      V.dlq | admin:V admin:V.dlq | create V | yes
      none | admin:V | create V | yes
      none | admin:V | create V.dlq | no
      none | admin:V.dlq | create V.dlq | yes
      none | read:V read:V.dlq | create V | no
      V V.dlq.dlq | admin:V admin:V.dlq | purge V.dlq.dlq | no
      V V.dlq.dlq | admin:V produce:V admin:V.dlq.dlq | redrive V.dlq.dlq | yes
      V V.dlq.dlq | produce:V.dlq.dlq admin:V.dlq.dlq | redrive V.dlq.dlq | no
      V | read:V | show V | yes
      V | read:V | browse V | yes
      V | read:V | produce V | no
      V | read:V | receive V | no
      V | read:V | settle V | no
      V | read:V | update V | no
      V | read:V | purge V | no
      V | read:V | delete V | no
      V | produce:V consume:V limit:V governor:V | show V | no
      V | produce:V consume:V limit:V governor:V | browse V | no
      V | produce:V | throttled V | no
      V | produce:V limit:V read:* | throttled V | no
      V | limit:* | throttled V | no
      V | produce:V limit:t | throttled V | yes
      V | produce:V limit:t | throttled V.dlq | yes
      """;

  /** Calls that enqueue a message to queue $, with their request. */
  static final Map<String, String> PRODUCING =
      Map.of(
          "POST /v1/queues/$/messages",
          "{\"payload\":\"x\"}",
          "sluice.v1.Queues/Enqueue",
          "queue: \"$\" messages {}",
          "fila.v1.FilaService/Enqueue",
          "queue: \"$\"");

  /** Calls that set the hook of queue $, which names throttle key t; updates after a creation. */
  private static final String HOOK_CALLS =
      """
      POST /v1/queues | {"name":"$","config":{"on_enqueue":"HOOK"}}
      sluice.v1.Queues/CreateQueue | name: "$" config { on_enqueue: "HOOK" }
      fila.v1.FilaAdmin/CreateQueue | name: "$" config { on_enqueue_script: "HOOK" }
      PUT /v1/queues/$ | {"on_enqueue":"HOOK"}
      PATCH /v1/queues/$ | {"on_enqueue":"HOOK"}
      sluice.v1.Queues/UpdateQueue | name: "$" config { on_enqueue: "HOOK" }
      sluice.v1.Queues/UpdateQueue | name: "$" config { on_enqueue: "HOOK" } update_mask { paths: "on_enqueue" }
      """;

  /**
   * Whether messages of queue V get throttle key t by a hook that a key of these permissions set.
   */
  private static final String HOOKS =
      """
      admin:V | no
      admin:V produce:V consume:V read:* governor:* | no
      admin:* produce:* | no
      admin:V limit:V limit:T limit:tt limit:t.* limit:t:* | no
      admin:V limit:t | yes
      admin:V limit:* | yes
      """;

  private static final String HOOK =
      "function on_enqueue(m) return { throttle_keys = { 't' } } end";

  private AccessScenarios() {}

  /** The scenarios of hooks: whether the hook may name its throttle key is {@code allowed}. */
  static List<Scenario> hooks() {
    List<Scenario> all = new ArrayList<>();
    for (List<String> permissions : HOOKS.lines().map(AccessScenarios::parts).toList()) {
      for (List<String> call : HOOK_CALLS.lines().map(AccessScenarios::parts).toList()) {
        String queue = "h" + all.size();
        boolean creates = call.get(0).contains("Create") || call.get(0).startsWith("POST");
        all.add(
            new Scenario(
                creates ? List.of() : List.of(queue),
                List.of(permissions.get(0).replace("V", queue).split(" ")),
                call.get(0).replace("$", queue),
                call.get(1).replace("$", queue).replace("HOOK", HOOK),
                permissions.get(1).equals("yes")));
      }
    }
    return all;
  }

  /**
   * A scenario on one wire.
   *
   * @param queues those that exist before
   * @param allows what the key allows
   * @param call method and path, or the full name of an RPC
   * @param request JSON, or a message in protobuf's text format
   * @param allowed whether it gets through
   */
  record Scenario(
      List<String> queues, List<String> allows, String call, String request, boolean allowed) {}

  /** All of them, each on every wire that has its action, with queues of its own. */
  static List<Scenario> all() {
    List<List<String>> actions = ACTIONS.lines().map(AccessScenarios::parts).toList();
    List<Scenario> all = new ArrayList<>();
    for (String line : SCENARIOS.lines().toList()) {
      String wanted = parts(line).get(2).split(" ", 2)[0];
      for (List<String> action : actions) {
        if (action.get(0).equals(wanted)) {
          all.add(scenario(parts(line.replace("V", "v" + all.size())), action));
        }
      }
    }
    return all;
  }

  private static List<String> parts(String line) {
    return Arrays.stream(line.split("\\|", -1)).map(String::strip).toList();
  }

  private static Scenario scenario(List<String> parts, List<String> action) {
    String queue = parts.get(2).split(" ", 2)[1];
    return new Scenario(
        parts.get(0).equals("none") ? List.of() : List.of(parts.get(0).split(" ")),
        List.of(parts.get(1).split(" ")),
        action.get(1).replace("$", queue),
        action.get(2).replace("$", queue),
        parts.get(3).equals("yes"));
  }
}
