package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import dev.sluice.broker.DeadLetter;
import dev.sluice.broker.Durability;
import dev.sluice.broker.QueueTotals;
import dev.sluice.governor.Alert;
import dev.sluice.governor.AuditReport;
import dev.sluice.governor.Counts;
import dev.sluice.governor.Dimension;
import dev.sluice.governor.Explanation;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.ProviderStanding;
import dev.sluice.governor.Settlement;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The document says what the server does, and nothing else. */
final class OpenApiTest {
  /** Every record that is read or written, by the name of its schema. */
  private static final Map<String, Class<? extends Record>> SCHEMAS =
      Map.ofEntries(
          Map.entry("Error", HttpAnswer.Failure.class),
          Map.entry("Problem", HttpAnswer.Problem.class),
          Map.entry("NewQueue", JsonQueues.NewQueue.class),
          Map.entry("QueueConfig", JsonQueues.Config.class),
          Map.entry("Queue", JsonQueues.Queue.class),
          Map.entry("QueueStats", JsonQueues.Stats.class),
          Map.entry("QueueTotals", QueueTotals.class),
          Map.entry("KeyStats", JsonQueues.KeyStats.class),
          Map.entry("QueueList", JsonQueues.Summaries.class),
          Map.entry("QueueSummary", JsonQueues.Summary.class),
          Map.entry("NewMessage", JsonMessages.NewMessage.class),
          Map.entry("NewMessages", JsonMessages.Batch.class),
          Map.entry("Receive", JsonQueues.Receive.class),
          Map.entry("Deliveries", JsonMessages.Deliveries.class),
          Map.entry("Delivery", JsonMessages.Delivered.class),
          Map.entry("DeadLetter", JsonMessages.Dead.class),
          Map.entry("Settle", JsonQueues.Settle.class),
          Map.entry("Settlement", JsonQueues.Verdict.class),
          Map.entry("Settled", JsonQueues.Settled.class),
          Map.entry("SettleResult", JsonQueues.Result.class),
          Map.entry("Messages", JsonMessages.Peeked.class),
          Map.entry("StoredMessage", JsonMessages.Stored.class),
          Map.entry("Redrive", JsonQueues.Redrive.class),
          Map.entry("Rate", HttpLimits.Rate.class),
          Map.entry("Limit", HttpLimits.Limit.class),
          Map.entry("Decide", HttpLimits.Decide.class),
          Map.entry("Decision", HttpLimits.Decision.class),
          Map.entry("ConfigEntry", HttpAdmin.Entry.class),
          Map.entry("ConfigValue", HttpAdmin.Value.class),
          Map.entry("Throttle", JsonKeys.Throttle.class),
          Map.entry("Throttles", JsonKeys.Throttles.class),
          Map.entry("Waiter", JsonKeys.Waiter.class),
          Map.entry("QueueKeys", JsonKeys.Keys.class),
          Map.entry("QueueKey", JsonKeys.Key.class),
          Map.entry("ParkedMessages", JsonKeys.Parked.class),
          Map.entry("LimitStanding", HttpLimits.Standing.class),
          Map.entry("ServerInfo", HttpAdmin.Info.class),
          Map.entry("NewKey", HttpKeys.NewKey.class),
          Map.entry("CreatedKey", HttpKeys.Created.class),
          Map.entry("Permission", HttpKeys.Allowed.class),
          Map.entry("Permissions", HttpKeys.Permissions.class),
          Map.entry("OwnKey", HttpKeys.Own.class),
          Map.entry("Key", HttpKeys.Known.class));

  /** Those of the governor, whose fields are named as in Java, but for two. */
  private static final Map<String, Class<? extends Record>> CAMEL_SCHEMAS =
      Map.ofEntries(
          Map.entry("TokenRequest", JsonGovernor.Ask.class),
          Map.entry("TokenGrant", JsonGovernor.Grant.class),
          Map.entry("TokenPlace", JsonGovernor.Place.class),
          Map.entry("TokenRefusal", JsonGovernor.Refusal.class),
          Map.entry("TokenUsage", JsonGovernor.Usage.class),
          Map.entry("TokenSettlement", Settlement.class),
          Map.entry("TokenExplanation", JsonGovernor.Foretold.class),
          Map.entry("TokenExplanationPart", JsonGovernor.Part.class),
          Map.entry("ProviderAnswer", JsonGovernor.Answer.class),
          Map.entry("BudgetsReloaded", JsonGovernor.Reloaded.class),
          Map.entry("ModelQueue", JsonGovernor.Line.class),
          Map.entry("TicketPlace", JsonGovernor.InLine.class),
          Map.entry("GovernorStatus", JsonGovernor.Status.class),
          Map.entry("GovernorModel", JsonGovernor.Bucket.class),
          Map.entry("GovernorCounts", Counts.class),
          Map.entry("GovernorAudit", AuditReport.class),
          Map.entry("GovernorProvider", ProviderStanding.class),
          Map.entry("GovernorAlert", JsonGovernor.Warning.class));

  /** Fields with values of an enum. */
  private static final Map<String, Class<? extends Enum<?>>> ENUMS =
      Map.ofEntries(
          Map.entry("Problem.code", ErrorKind.class),
          Map.entry("QueueConfig.durability", Durability.class),
          Map.entry("DeadLetter.reason", DeadLetter.Reason.class),
          Map.entry("TokenPlace.binding", Dimension.class),
          Map.entry("TokenRefusal.reason", Outcome.Reason.class),
          Map.entry("TokenExplanation.verdict", Explanation.Verdict.class),
          Map.entry("TokenExplanation.binding", Dimension.class),
          Map.entry("TokenExplanationPart.dimension", Dimension.class),
          Map.entry("ModelQueue.binding/additionalProperties", Dimension.class),
          Map.entry("TicketPlace.binding", Dimension.class),
          Map.entry("GovernorAlert.kind", Alert.Kind.class));

  /** Schemas of answers with one field, which are no records. */
  private static final Set<String> PLAIN =
      Set.of("Status", "Ids", "Purged", "Redriven", "Limits", "ConfigEntries", "Waiters", "Keys");

  @TempDir Path dir;

  @Test
  void document_namesExactlyTheRoutesThereAre() throws IOException {
    try (SluiceServer server =
        SluiceServer.start(ServerConfig.defaults(dir).withListen(Listen.ANYWHERE))) {
      JsonNode document = new HttpProbe(server.httpPort()).get("/openapi.json").json();
      assertThat(documented(document)).isEqualTo(registered(server.httpRoutes()));
      for (HttpRoute route : server.httpRoutes()) {
        JsonNode operation = operation(document, route);
        assertThat(operation.has("security")).as(route.template()).isEqualTo(route.open());
        assertThat(queryNames(operation))
            .as(route.template())
            .containsExactlyElementsOf(Objects.requireNonNullElse(route.query(), List.of()));
        assertThat(!operation.has("requestBody") || route.takesBody())
            .as(route.template())
            .isTrue();
      }
    }
  }

  private static JsonNode operation(JsonNode document, HttpRoute route) {
    return document.get("paths").get(route.template()).get(route.method().toLowerCase(Locale.ROOT));
  }

  private static List<String> queryNames(JsonNode operation) {
    List<String> all = new ArrayList<>();
    for (JsonNode each : operation.path("parameters")) {
      if (each.get("in").asText().equals("query")) {
        all.add(each.get("name").asText());
      }
    }
    return all;
  }

  private static Set<String> registered(List<HttpRoute> routes) {
    return routes.stream()
        .map(route -> route.method() + " " + route.template())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> documented(JsonNode document) {
    Set<String> all = new TreeSet<>();
    document
        .get("paths")
        .properties()
        .forEach(
            path ->
                path.getValue()
                    .fieldNames()
                    .forEachRemaining(
                        method -> {
                          if (!method.equals("parameters")) {
                            all.add(method.toUpperCase(Locale.ROOT) + " " + path.getKey());
                          }
                        }));
    return all;
  }

  @Test
  void schemas_haveExactlyTheFieldsThereAre() throws IOException {
    try (SluiceServer server =
        SluiceServer.start(ServerConfig.defaults(dir).withListen(Listen.ANYWHERE))) {
      JsonNode schemas =
          new HttpProbe(server.httpPort()).get("/openapi.json").json().at("/components/schemas");
      Set<String> known = new TreeSet<>(SCHEMAS.keySet());
      known.addAll(PLAIN);
      known.addAll(CAMEL_SCHEMAS.keySet());
      assertThat(names(schemas)).isEqualTo(known);
      SCHEMAS.forEach(
          (name, type) ->
              assertThat(names(schemas.get(name).get("properties")))
                  .as(name)
                  .isEqualTo(fields(type, new SnakeCaseStrategy()::translate)));
      CAMEL_SCHEMAS.forEach(
          (name, type) ->
              assertThat(names(schemas.get(name).get("properties")))
                  .as(name)
                  .isEqualTo(fields(type, each -> each.replace("Tpm", "TPM"))));
    }
  }

  private static Set<String> names(JsonNode object) {
    Set<String> all = new TreeSet<>();
    object.fieldNames().forEachRemaining(all::add);
    return all;
  }

  private static Set<String> fields(
      Class<? extends Record> type, UnaryOperator<String> translation) {
    return Arrays.stream(type.getRecordComponents())
        .map(RecordComponent::getName)
        .map(translation)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  @Test
  void enums_haveExactlyTheValuesThereAre() throws IOException {
    try (SluiceServer server =
        SluiceServer.start(ServerConfig.defaults(dir).withListen(Listen.ANYWHERE))) {
      JsonNode schemas =
          new HttpProbe(server.httpPort()).get("/openapi.json").json().at("/components/schemas");
      ENUMS.forEach(
          (field, type) -> {
            List<String> told = new ArrayList<>();
            String schema = field.substring(0, field.indexOf('.'));
            String name = field.substring(field.indexOf('.') + 1);
            schemas
                .at("/%s/properties/%s/enum".formatted(schema, name))
                .forEach(each -> told.add(each.asText()));
            assertThat(told)
                .as(field)
                .containsExactlyInAnyOrderElementsOf(
                    Arrays.stream(type.getEnumConstants()).map(Enum::name).toList());
          });
    }
  }

  @Test
  void references_leadSomewhere() throws IOException {
    try (SluiceServer server =
        SluiceServer.start(ServerConfig.defaults(dir).withListen(Listen.ANYWHERE))) {
      JsonNode document = new HttpProbe(server.httpPort()).get("/openapi.json").json();
      List<String> references = document.findValuesAsText("$ref");
      assertThat(references).isNotEmpty();
      assertThat(references).allMatch(each -> !document.at(each.substring(1)).isMissingNode());
    }
  }
}
