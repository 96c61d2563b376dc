package dev.sluice.governor;

import static dev.sluice.internal.util.Preconditions.requireBetween;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.sluice.Limit;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads {@code token-budget.json}. A key that is given twice, that is unknown, or whose value
 * breaks a rule is an error that names it; keys that are known and have no effect are listed in
 * {@link BudgetConfig#ignoredKeys}.
 */
final class BudgetConfigReader {
  private static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  private static final Set<String> BLOCKS = Set.of("models", "governor", "routes");
  private static final Set<String> OTHER_BLOCKS =
      Set.of("chunking", "streaming", "checkpointing", "observability");
  private static final Set<String> MODEL_KEYS =
      Set.of(
          "target_tpm",
          "burst_tpm",
          "provider_tpm",
          "qps",
          "rpm",
          "concurrency",
          "allocation",
          "priority_classes",
          "minimum_shares",
          "tenants",
          "estimate_output",
          "max_ctx",
          "max_out");
  private static final Set<String> IDLE_MODEL_KEYS =
      Set.of("provider", "safe_ctx", "safe_out", "retry_max", "backoff_base_ms", "backoff_max_ms");
  private static final Set<String> TENANT_KEYS = Set.of("target_tpm", "burst_tpm", "weight");
  private static final Set<String> GOVERNOR_KEYS =
      Set.of(
          "max_waiting",
          "ticket_idle_timeout_ms",
          "reservation_timeout_ms",
          "drain_batch",
          "refill_interval_ms",
          "monitor_interval_ms",
          "alert_window_ms",
          "alert_threshold_429",
          "alert_min_requests",
          "alert_queue_length");
  private static final Set<String> IDLE_GOVERNOR_KEYS =
      Set.of("redis_url", "queue_name", "alert_threshold_tpm_variance");

  private final List<String> ignoredKeys = new ArrayList<>();

  private BudgetConfigReader() {}

  /**
   * Reads a file.
   *
   * @param file where it is
   * @return what it says
   * @throws IOException if it cannot be read
   * @throws IllegalArgumentException if it breaks a rule
   */
  static BudgetConfig read(Path file) throws IOException {
    try {
      return parse(Files.readString(file));
    } catch (IllegalArgumentException wrong) {
      throw new IllegalArgumentException(file + ": " + wrong.getMessage(), wrong);
    }
  }

  /**
   * Reads a text.
   *
   * @param json what the file would hold
   * @return what it says
   * @throws IllegalArgumentException if it breaks a rule
   */
  static BudgetConfig parse(String json) {
    JsonNode root;
    try {
      root = JSON.readTree(json);
    } catch (JacksonException malformed) {
      throw new IllegalArgumentException(
          "the budget must be proper JSON: " + malformed.getOriginalMessage(), malformed);
    }
    return new BudgetConfigReader().config(root);
  }

  private BudgetConfig config(JsonNode root) {
    requireObject("the budget", root);
    for (String key : names(root)) {
      if (OTHER_BLOCKS.contains(key)) {
        ignoredKeys.add(key);
      } else if (!BLOCKS.contains(key)) {
        throw unknown(key, Stream.concat(BLOCKS.stream(), OTHER_BLOCKS.stream()));
      }
    }
    requireObject("models", root.path("models"));
    if (root.path("models").isEmpty()) {
      throw new IllegalArgumentException("models must name at least one model");
    }
    Map<String, ModelBudget> models = new LinkedHashMap<>();
    for (String name : names(root.path("models"))) {
      String path = "models." + name;
      models.put(name, within(path, () -> model(path, root.path("models").path(name))));
    }
    JsonNode governor = root.path("governor");
    if (!governor.isMissingNode()) {
      requireObject("governor", governor);
      sort("governor", governor, GOVERNOR_KEYS, IDLE_GOVERNOR_KEYS);
    }
    return BudgetConfig.builder()
        .models(models)
        .waitingList(within("governor", () -> waitingList(governor)))
        .alerts(within("governor", () -> alerts(governor)))
        .routes(routes(root.path("routes")))
        .ignoredKeys(ignoredKeys)
        .build();
  }

  /** Adds the path to the message of an exception. */
  private static <T> T within(String path, Supplier<T> read) {
    try {
      return read.get();
    } catch (IllegalArgumentException wrong) {
      String message = String.valueOf(wrong.getMessage());
      throw new IllegalArgumentException(
          message.startsWith(path) ? message : path + ": " + message, wrong);
    }
  }

  private ModelBudget model(String path, JsonNode model) {
    requireObject(path, model);
    sort(path, model, MODEL_KEYS, IDLE_MODEL_KEYS);
    long target = whole(path, model, "target_tpm", null);
    long burst = whole(path, model, "burst_tpm", target);
    requireTokens("", target, burst);
    requireProvider(path, model, target, burst);
    ModelBudget.Builder budget =
        ModelBudget.builder(Limit.perMinute(target, burst))
            .requests(requests(path, model))
            .maxConcurrentRequests(small(path, model, "concurrency", 0))
            .allocation(allocation(path, model.path("allocation")))
            .tenants(tenants(path + ".tenants", model.path("tenants")))
            .estimateOutput(flag(path, model, "estimate_output"))
            .maxContextTokens(limit(path, model, "max_ctx"))
            .maxOutputTokens(limit(path, model, "max_out"));
    if (model.has("priority_classes")) {
      budget.priorityClasses(priorityClasses(path + ".priority_classes", model));
    }
    if (model.has("minimum_shares")) {
      budget.minimumShares(shares(path + ".minimum_shares", model.path("minimum_shares")));
    }
    return budget.build();
  }

  private static void requireTokens(String owner, long target, long burst) {
    requireBetween("target_tpm" + owner, target, 1, TokenRequest.MAX_TOKENS);
    requireBetween("burst_tpm" + owner, burst, 1, TokenRequest.MAX_TOKENS);
  }

  /** Returns the limits {@code qps} and {@code rpm}; 0 means no limit. */
  private static Limit[] requests(String path, JsonNode model) {
    long perSecond = whole(path, model, "qps", 0L);
    long perMinute = whole(path, model, "rpm", 0L);
    requireBetween("qps", perSecond, 0, TokenRequest.MAX_TOKENS);
    requireBetween("rpm", perMinute, 0, TokenRequest.MAX_TOKENS);
    return Stream.of(Limit.perSecond(perSecond), Limit.perMinute(perMinute))
        .filter(each -> !(each instanceof Limit.DenyAll))
        .toArray(Limit[]::new);
  }

  /** An empty object is an error: without the key, there is one class. */
  private static Map<String, Double> priorityClasses(String path, JsonNode model) {
    Map<String, Double> shares = shares(path, model.path("priority_classes"));
    if (shares.isEmpty()) {
      throw new IllegalArgumentException(
          path
              + " must have at least one class; without the key there is the class "
              + ModelBudget.DEFAULT_PRIORITY_CLASS);
    }
    return shares;
  }

  /** Returns the limit on the tokens of one call; 0 if the file has none. */
  private static long limit(String path, JsonNode model, String key) {
    if (!model.has(key)) {
      return 0;
    }
    long value = whole(path, model, key, null);
    requireBetween(key, value, 1, TokenRequest.MAX_TOKENS);
    return value;
  }

  /**
   * Checks that the provider's limit covers burst and target, which both go through in the first
   * minute.
   */
  private static void requireProvider(String path, JsonNode model, long target, long burst) {
    if (model.has("provider_tpm")) {
      long provider = whole(path, model, "provider_tpm", null);
      if (burst > provider - target) {
        throw new IllegalArgumentException(
            "%s: burst_tpm and target_tpm together must be at most provider_tpm=%d: %d and %d"
                .formatted(path, provider, burst, target));
      }
    }
  }

  private static Allocation allocation(String path, JsonNode mode) {
    if (mode.isMissingNode()) {
      return Allocation.CEILING;
    }
    for (Allocation each : Allocation.values()) {
      if (mode.isTextual() && each.name().toLowerCase(Locale.ROOT).equals(mode.textValue())) {
        return each;
      }
    }
    throw new IllegalArgumentException(
        path + ".allocation must be one of ceiling, scale, off, but was " + mode);
  }

  private static Map<String, Double> shares(String path, JsonNode shares) {
    requireObject(path, shares);
    Map<String, Double> found = new LinkedHashMap<>();
    for (String name : names(shares)) {
      found.put(name, number(path + "." + name, shares.path(name)));
    }
    return found;
  }

  private Map<String, ModelBudget.TenantBudget> tenants(String path, JsonNode tenants) {
    Map<String, ModelBudget.TenantBudget> found = new LinkedHashMap<>();
    if (!tenants.isMissingNode()) {
      requireObject(path, tenants);
      for (String name : names(tenants)) {
        JsonNode tenant = tenants.path(name);
        String own = path + "." + name;
        requireObject(own, tenant);
        sort(own, tenant, TENANT_KEYS, Set.of());
        long target = whole(own, tenant, "target_tpm", null);
        long burst = whole(own, tenant, "burst_tpm", target);
        requireTokens(" of a tenant", target, burst);
        found.put(
            name,
            new ModelBudget.TenantBudget(
                Limit.perMinute(target, burst), small(own, tenant, "weight", 1)));
      }
    }
    return found;
  }

  private static WaitingListConfig waitingList(JsonNode governor) {
    WaitingListConfig usual = WaitingListConfig.builder().build();
    return WaitingListConfig.builder()
        .maxWaiting(small("governor", governor, "max_waiting", usual.maxWaiting()))
        .ticketIdleTimeout(millis(governor, "ticket_idle_timeout_ms", usual.ticketIdleTimeout()))
        .reservationTimeout(millis(governor, "reservation_timeout_ms", usual.reservationTimeout()))
        .drainBatch(small("governor", governor, "drain_batch", usual.drainBatch()))
        .refillInterval(millis(governor, "refill_interval_ms", usual.refillInterval()))
        .build();
  }

  private static AlertConfig alerts(JsonNode governor) {
    AlertConfig usual = AlertConfig.builder().build();
    JsonNode threshold = governor.path("alert_threshold_429");
    return AlertConfig.builder()
        .interval(millis(governor, "monitor_interval_ms", usual.interval()))
        .window(millis(governor, "alert_window_ms", usual.window()))
        .rejectionThreshold(
            threshold.isMissingNode()
                ? usual.rejectionThreshold()
                : number("governor.alert_threshold_429", threshold))
        .minRequests(small("governor", governor, "alert_min_requests", usual.minRequests()))
        .maxWaiting(small("governor", governor, "alert_queue_length", usual.maxWaiting()))
        .build();
  }

  private static Map<String, List<String>> routes(JsonNode routes) {
    Map<String, List<String>> found = new LinkedHashMap<>();
    if (!routes.isMissingNode()) {
      requireObject("routes", routes);
      for (String name : names(routes)) {
        found.put(name, route("routes." + name, routes.path(name)));
      }
    }
    return found;
  }

  private static List<String> route(String path, JsonNode models) {
    if (!models.isArray()) {
      throw new IllegalArgumentException(path + " must be a list of models, but was " + models);
    }
    List<String> found = new ArrayList<>();
    for (JsonNode model : models) {
      if (!model.isTextual()) {
        throw new IllegalArgumentException(path + " must be a list of models, but was " + models);
      }
      found.add(model.textValue());
    }
    return found;
  }

  private static Duration millis(JsonNode governor, String key, Duration usual) {
    return Duration.ofMillis(whole("governor", governor, key, usual.toMillis()));
  }

  // ---- values

  /** Collects keys without effect; refuses unknown ones. */
  private void sort(String path, JsonNode object, Set<String> keys, Set<String> idle) {
    for (String key : names(object)) {
      if (idle.contains(key)) {
        ignoredKeys.add(path + "." + key);
      } else if (!keys.contains(key)) {
        throw unknown(path + "." + key, Stream.concat(keys.stream(), idle.stream()));
      }
    }
  }

  private static IllegalArgumentException unknown(String key, Stream<String> known) {
    return new IllegalArgumentException(
        "%s is unknown; known are %s".formatted(key, known.sorted().toList()));
  }

  private static List<String> names(JsonNode object) {
    List<String> names = new ArrayList<>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }

  private static void requireObject(String path, JsonNode node) {
    if (!node.isObject()) {
      throw new IllegalArgumentException(
          "%s must be an object, but was %s"
              .formatted(path, node.isMissingNode() ? "missing" : node.toString()));
    }
  }

  private static long whole(String path, JsonNode object, String key, @Nullable Long usual) {
    JsonNode value = object.path(key);
    if (value.isMissingNode() && usual != null) {
      return usual;
    }
    if (!value.isIntegralNumber() || !value.canConvertToLong()) {
      throw new IllegalArgumentException(
          "%s.%s must be a whole number, but was %s"
              .formatted(path, key, value.isMissingNode() ? "missing" : value.toString()));
    }
    return value.longValue();
  }

  /**
   * Reads an int like {@link #whole}; a number that is too large is left to the check of the value.
   */
  private static int small(String path, JsonNode object, String key, int usual) {
    long value = whole(path, object, key, (long) usual);
    return (int) Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, value));
  }

  private static double number(String path, JsonNode value) {
    if (!value.isNumber()) {
      throw new IllegalArgumentException("%s must be a number, but was %s".formatted(path, value));
    }
    return value.doubleValue();
  }

  private static boolean flag(String path, JsonNode object, String key) {
    JsonNode value = object.path(key);
    if (!value.isMissingNode() && !value.isBoolean()) {
      throw new IllegalArgumentException(
          "%s.%s must be true or false, but was %s".formatted(path, key, value));
    }
    return value.booleanValue();
  }
}
