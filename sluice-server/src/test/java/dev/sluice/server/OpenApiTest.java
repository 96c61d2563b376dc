package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import dev.sluice.broker.DeadLetter;
import dev.sluice.broker.Durability;
import dev.sluice.broker.QueueTotals;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.http.routes.AdminRoutes;
import dev.sluice.server.http.routes.ApiKeyRoutes;
import dev.sluice.server.http.routes.GovernorJson;
import dev.sluice.server.http.routes.LimitRoutes;
import dev.sluice.server.http.routes.MessageJson;
import dev.sluice.server.http.routes.QueueJson;
import dev.sluice.server.http.routes.SchedulingStatsJson;
import dev.sluice.server.operations.QueueConfigFields;
import dev.sluice.server.support.ErrorKind;
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
          Map.entry("Error", HttpResponse.ErrorBody.class),
          Map.entry("Problem", HttpResponse.ErrorDetail.class),
          Map.entry("NewQueue", QueueJson.NewQueue.class),
          Map.entry("QueueConfig", QueueConfigFields.class),
          Map.entry("Queue", QueueJson.QueueDetailsJson.class),
          Map.entry("QueueStats", QueueJson.Stats.class),
          Map.entry("QueueTotals", QueueTotals.class),
          Map.entry("FairnessKeyStats", QueueJson.FairnessKeyStatsJson.class),
          Map.entry("QueueList", QueueJson.Summaries.class),
          Map.entry("QueueSummary", QueueJson.Summary.class),
          Map.entry("Message", MessageJson.NewMessage.class),
          Map.entry("Messages", MessageJson.Batch.class),
          Map.entry("Receive", QueueJson.Receive.class),
          Map.entry("Deliveries", MessageJson.Deliveries.class),
          Map.entry("Delivery", MessageJson.Delivered.class),
          Map.entry("DeadLetter", MessageJson.DeadLetterJson.class),
          Map.entry("Settle", QueueJson.Settle.class),
          Map.entry("Settlement", QueueJson.SettlementJson.class),
          Map.entry("Settled", QueueJson.Settled.class),
          Map.entry("SettleResult", QueueJson.Result.class),
          Map.entry("StoredMessages", MessageJson.StoredMessagesJson.class),
          Map.entry("StoredMessage", MessageJson.Stored.class),
          Map.entry("Redrive", QueueJson.Redrive.class),
          Map.entry("Limit", LimitRoutes.LimitJson.class),
          Map.entry("NamedLimit", LimitRoutes.NamedLimitJson.class),
          Map.entry("Decide", LimitRoutes.Decide.class),
          Map.entry("Decision", LimitRoutes.Decision.class),
          Map.entry("ConfigEntry", AdminRoutes.ConfigEntryJson.class),
          Map.entry("ConfigValue", AdminRoutes.Value.class),
          Map.entry("QueueLimitStats", SchedulingStatsJson.QueueLimitStatsJson.class),
          Map.entry("Throttles", SchedulingStatsJson.LimitsSnapshotJson.class),
          Map.entry("Waiter", SchedulingStatsJson.Waiter.class),
          Map.entry("FairnessKeyPage", SchedulingStatsJson.FairnessKeyPageJson.class),
          Map.entry("FairnessKeyRow", SchedulingStatsJson.FairnessKeyJson.class),
          Map.entry("ThrottledMessages", SchedulingStatsJson.ThrottledJson.class),
          Map.entry("LimitStats", LimitRoutes.LimitStatsJson.class),
          Map.entry("ServerInfo", AdminRoutes.Info.class),
          Map.entry("NewApiKey", ApiKeyRoutes.NewApiKey.class),
          Map.entry("CreatedApiKey", ApiKeyRoutes.CreatedApiKey.class),
          Map.entry("Permission", ApiKeyRoutes.PermissionJson.class),
          Map.entry("Permissions", ApiKeyRoutes.Permissions.class),
          Map.entry("CurrentApiKey", ApiKeyRoutes.CurrentApiKeyJson.class),
          Map.entry("ApiKey", ApiKeyRoutes.ApiKeyJson.class));

  /** Those of the governor, whose fields are named as in Java, but for two. */
  private static final Map<String, Class<? extends Record>> CAMEL_SCHEMAS =
      Map.ofEntries(
          Map.entry("TokenRequest", GovernorJson.TokenRequestJson.class),
          Map.entry("TokenGranted", GovernorJson.GrantedJson.class),
          Map.entry("TokenQueued", GovernorJson.QueuedJson.class),
          Map.entry("TokenDenied", GovernorJson.DeniedJson.class),
          Map.entry("TokenUsage", GovernorJson.UsageJson.class),
          Map.entry("TokenSettlement", TokenSettlement.class),
          Map.entry("TokenExplanation", GovernorJson.ExplanationJson.class),
          Map.entry("DimensionStatus", GovernorJson.DimensionJson.class),
          Map.entry("ProviderResponse", GovernorJson.ProviderResponseJson.class),
          Map.entry("BudgetsReloaded", GovernorJson.Reloaded.class),
          Map.entry("WaitingList", GovernorJson.WaitingListJson.class),
          Map.entry("QueuedTicket", GovernorJson.QueuedTicketJson.class),
          Map.entry("GovernorStatus", GovernorJson.Status.class),
          Map.entry("GovernorModel", GovernorJson.Bucket.class),
          Map.entry("GovernorCounts", GovernorStatus.Counts.class),
          Map.entry("GovernorAudit", GovernorStatus.Audit.class),
          Map.entry("GovernorProvider", GovernorStatus.Provider.class),
          Map.entry("GovernorAlert", GovernorJson.AlertJson.class));

  /** Fields with values of an enum. */
  private static final Map<String, Class<? extends Enum<?>>> ENUMS =
      Map.ofEntries(
          Map.entry("Problem.code", ErrorKind.class),
          Map.entry("QueueConfig.durability", Durability.class),
          Map.entry("DeadLetter.reason", DeadLetter.Reason.class),
          Map.entry("TokenQueued.binding", BudgetDimension.class),
          Map.entry("TokenDenied.reason", GovernorJson.DenialReason.class),
          Map.entry("TokenExplanation.outcome", TokenExplanation.Outcome.class),
          Map.entry("TokenExplanation.binding", BudgetDimension.class),
          Map.entry("DimensionStatus.dimension", BudgetDimension.class),
          Map.entry("WaitingList.binding/additionalProperties", BudgetDimension.class),
          Map.entry("QueuedTicket.binding", BudgetDimension.class),
          Map.entry("GovernorAlert.kind", GovernorStatus.Alert.Kind.class));

  /** Schemas of answers with one field, which are no records. */
  private static final Set<String> PLAIN =
      Set.of(
          "Status", "Ids", "Purged", "Redriven", "Limits", "ConfigEntries", "Waiters", "ApiKeys");

  @TempDir Path dir;

  @Test
  void document_listsExactlyTheRoutes() throws IOException {
    try (SluiceServer server =
        SluiceServer.start(ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE))) {
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
  void schemas_listExactlyTheFields() throws IOException {
    try (SluiceServer server =
        SluiceServer.start(ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE))) {
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
  void enums_listExactlyTheValues() throws IOException {
    try (SluiceServer server =
        SluiceServer.start(ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE))) {
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
  void references_resolve() throws IOException {
    try (SluiceServer server =
        SluiceServer.start(ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE))) {
      JsonNode document = new HttpProbe(server.httpPort()).get("/openapi.json").json();
      List<String> references = document.findValuesAsText("$ref");
      assertThat(references).isNotEmpty();
      assertThat(references).allMatch(each -> !document.at(each.substring(1)).isMissingNode());
    }
  }
}
