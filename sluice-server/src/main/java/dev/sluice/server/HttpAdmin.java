package dev.sluice.server;

import dev.sluice.broker.BrokerView;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The configuration that scripts read, rates of throttle keys, and what the server is. */
final class HttpAdmin implements HttpRoute.Group {
  private static final String CONFIG = "/v1/config";
  private static final String ONE_CONFIG = CONFIG + "/{key}";
  private static final String THROTTLES = "/v1/throttles";
  private static final String ONE_THROTTLE = THROTTLES + "/{key}";
  private static final int DEFAULT_WAITERS = 100;

  private final AdminApi admin;

  HttpAdmin(AdminApi admin) {
    this.admin = admin;
  }

  /** What a key is to have. */
  record Value(@Nullable String value) {}

  /** A key of the configuration. */
  record Entry(String key, String value) {}

  /** What the server is. */
  record Info(String version, long startedAtMs) {}

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

  private HttpReply listConfig(HttpRequest request) {
    String prefix = request.query().getOrDefault("prefix", "");
    List<Entry> entries =
        admin.listConfig(request.caller(), prefix).entrySet().stream()
            .map(each -> new Entry(each.getKey(), each.getValue()))
            .toList();
    return HttpReply.now(HttpAnswer.ok(Map.of("entries", entries)));
  }

  private HttpReply getConfig(HttpRequest request) {
    String key = key(request);
    return HttpReply.now(HttpAnswer.ok(new Entry(key, admin.config(request.caller(), key))));
  }

  private HttpReply setConfig(HttpRequest request) {
    String value = request.read(Value.class).value();
    if (value == null) {
      throw ApiException.invalid("value must be there");
    }
    admin.setConfig(request.caller(), key(request), value);
    return HttpReply.now(HttpAnswer.ok(new Entry(key(request), value)));
  }

  private HttpReply removeConfig(HttpRequest request) {
    admin.removeConfig(request.caller(), key(request));
    return HttpReply.now(HttpAnswer.nothing());
  }

  private HttpReply listThrottles(HttpRequest request) {
    int limit = request.queryInt("limit", AdminApi.MAX_LISTED);
    QueueApi.requireBetween("limit", limit, 1, AdminApi.MAX_LISTED);
    BrokerView.Throttles all = admin.viewThrottles(request.caller());
    return HttpReply.now(HttpAnswer.ok(JsonKeys.Throttles.of(all, limit)));
  }

  private HttpReply waiters(HttpRequest request) {
    List<JsonKeys.Waiter> first =
        admin
            .waiters(request.caller(), key(request), request.queryInt("limit", DEFAULT_WAITERS))
            .stream()
            .map(JsonKeys.Waiter::of)
            .toList();
    return HttpReply.now(HttpAnswer.ok(Map.of("waiters", first)));
  }

  private HttpReply setThrottle(HttpRequest request) {
    LimitApi.Rate rate = request.read(HttpLimits.Rate.class).toRate();
    admin.setThrottle(request.caller(), key(request), rate.perSecond(), rate.burst());
    return HttpReply.now(HttpAnswer.ok(HttpLimits.Limit.of(key(request), rate)));
  }

  private HttpReply removeThrottle(HttpRequest request) {
    admin.removeThrottle(request.caller(), key(request));
    return HttpReply.now(HttpAnswer.nothing());
  }

  private HttpReply info(HttpRequest request) {
    AdminApi.ServerInfo info = admin.info();
    return HttpReply.now(HttpAnswer.ok(new Info(info.version(), info.startedAtMs())));
  }
}
