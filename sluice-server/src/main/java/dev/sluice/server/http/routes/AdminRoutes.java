package dev.sluice.server.http.routes;

import dev.sluice.broker.BrokerView;
import dev.sluice.server.http.HandlerResult;
import dev.sluice.server.http.HttpRequest;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.operations.AdminOperations;
import dev.sluice.server.operations.LimitOperations;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.support.ApiException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The configuration that hooks read, limits of throttle keys, and facts about the server. */
public final class AdminRoutes implements HttpRoute.RouteGroup {
  private static final String CONFIG = "/v1/config";
  private static final String ONE_CONFIG = CONFIG + "/{key}";
  private static final String THROTTLES = "/v1/throttles";
  private static final String ONE_THROTTLE = THROTTLES + "/{key}";
  private static final int DEFAULT_WAITERS = 100;

  private final AdminOperations admin;

  public AdminRoutes(AdminOperations admin) {
    this.admin = admin;
  }

  /** The new value of a config entry. */
  public record Value(@Nullable String value) {}

  /** A key of the configuration. */
  public record ConfigEntryJson(String key, String value) {}

  /** The version and start time of the server. */
  public record Info(String version, long startedAtMs) {}

  @Override
  public List<HttpRoute> routes() {
    return List.of(
        HttpRoute.of("GET", CONFIG, this::listConfig).taking("prefix").listing(),
        HttpRoute.of("GET", ONE_CONFIG, this::getConfig),
        HttpRoute.of("PUT", ONE_CONFIG, this::setConfig).needingAdminOfAll(),
        HttpRoute.of("DELETE", ONE_CONFIG, this::removeConfig),
        HttpRoute.of("GET", THROTTLES, this::listThrottles).taking("limit").listing(),
        HttpRoute.of("GET", ONE_THROTTLE + "/waiters", this::waiters).taking("limit").listing(),
        HttpRoute.of("PUT", ONE_THROTTLE, this::setThrottle).needingAdminOfAll(),
        HttpRoute.of("DELETE", ONE_THROTTLE, this::removeThrottle),
        HttpRoute.of("GET", "/v1/info", this::info));
  }

  private static String key(HttpRequest request) {
    return request.parameter("key");
  }

  private HandlerResult listConfig(HttpRequest request) {
    String prefix = request.query().getOrDefault("prefix", "");
    List<AdminRoutes.ConfigEntryJson> entries =
        admin.listConfig(request.caller(), prefix).entrySet().stream()
            .map(each -> new AdminRoutes.ConfigEntryJson(each.getKey(), each.getValue()))
            .toList();
    return HandlerResult.now(HttpResponse.ok(Map.of("entries", entries)));
  }

  private HandlerResult getConfig(HttpRequest request) {
    String key = key(request);
    return HandlerResult.now(
        HttpResponse.ok(new AdminRoutes.ConfigEntryJson(key, admin.config(request.caller(), key))));
  }

  private HandlerResult setConfig(HttpRequest request) {
    String value = request.read(Value.class).value();
    if (value == null) {
      throw ApiException.invalid("value is required");
    }
    admin.setConfig(request.caller(), key(request), value);
    return HandlerResult.now(HttpResponse.ok(new AdminRoutes.ConfigEntryJson(key(request), value)));
  }

  private HandlerResult removeConfig(HttpRequest request) {
    admin.removeConfig(request.caller(), key(request));
    return HandlerResult.now(HttpResponse.nothing());
  }

  private HandlerResult listThrottles(HttpRequest request) {
    int limit = request.queryInt("limit", AdminOperations.MAX_LISTED);
    QueueOperations.requireBetween("limit", limit, 1, AdminOperations.MAX_LISTED);
    BrokerView.LimitsSnapshot all = admin.viewThrottles(request.caller());
    return HandlerResult.now(
        HttpResponse.ok(SchedulingStatsJson.LimitsSnapshotJson.of(all, limit)));
  }

  private HandlerResult waiters(HttpRequest request) {
    List<SchedulingStatsJson.Waiter> first =
        admin
            .waiters(request.caller(), key(request), request.queryInt("limit", DEFAULT_WAITERS))
            .stream()
            .map(SchedulingStatsJson.Waiter::of)
            .toList();
    return HandlerResult.now(HttpResponse.ok(Map.of("waiters", first)));
  }

  private HandlerResult setThrottle(HttpRequest request) {
    LimitOperations.Rate rate = request.read(LimitRoutes.LimitJson.class).toRate();
    admin.setThrottle(request.caller(), key(request), rate.perSecond(), rate.burst());
    return HandlerResult.now(HttpResponse.ok(LimitRoutes.NamedLimitJson.of(key(request), rate)));
  }

  private HandlerResult removeThrottle(HttpRequest request) {
    admin.removeThrottle(request.caller(), key(request));
    return HandlerResult.now(HttpResponse.nothing());
  }

  private HandlerResult info(HttpRequest request) {
    AdminOperations.ServerInfo info = admin.info();
    return HandlerResult.now(HttpResponse.ok(new Info(info.version(), info.startedAtMs())));
  }
}
