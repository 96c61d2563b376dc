package dev.sluice.server.http.routes;

import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.http.HandlerResult;
import dev.sluice.server.http.HttpRequest;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.operations.LimitBackend;
import dev.sluice.server.operations.LimitOperations;
import dev.sluice.server.support.ApiException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Limits over HTTP. The fields {@code RateLimit} and {@code RateLimit-Policy} are those of
 * draft-ietf-httpapi-ratelimit-headers: q is the burst, w the seconds in which it accrues, r what
 * is left, and t the seconds until nothing is missing.
 */
public final class LimitRoutes implements HttpRoute.RouteGroup {
  private static final int OK = 200;
  private static final int TOO_MANY_REQUESTS = 429;
  private static final long NANOS = 1_000_000_000L;
  private static final double MAX_INTEGER = 999_999_999_999_999.0;

  /** The header fields name no more keys, so that every client can take them. */
  private static final int MAX_NAMED = 8;

  private static final Collector<CharSequence, ?, String> LIST = Collectors.joining(", ");

  private static final String ALL = "/v1/limits";
  private static final String ONE = ALL + "/{name}";

  private final LimitOperations limits;

  public LimitRoutes(LimitOperations limits) {
    this.limits = limits;
  }

  /** The rate and burst of a limit. */
  public record LimitJson(@Nullable Double ratePerSecond, @Nullable Double burst) {
    LimitOperations.Rate toRate() {
      if (ratePerSecond == null || burst == null) {
        throw ApiException.invalid(
            (ratePerSecond == null ? "rate_per_second" : "burst") + " is required");
      }
      return new LimitOperations.Rate(ratePerSecond, burst);
    }
  }

  /** A limit. */
  public record NamedLimitJson(String name, double ratePerSecond, double burst) {
    static LimitRoutes.NamedLimitJson of(String name, LimitOperations.Rate rate) {
      return new LimitRoutes.NamedLimitJson(name, rate.perSecond(), rate.burst());
    }
  }

  /** A limit and its remaining tokens, if known. */
  public record LimitStatsJson(
      String name, double ratePerSecond, double burst, @Nullable Double level) {
    static LimitRoutes.LimitStatsJson of(LimitBackend.Standing standing) {
      return new LimitRoutes.LimitStatsJson(
          standing.key(), standing.rate().perSecond(), standing.rate().burst(), standing.level());
    }
  }

  /** Tokens by key. */
  public record Decide(@Nullable Map<String, @Nullable Long> costs, @Nullable Boolean peek) {}

  /** A decision; fields that do not apply are absent. */
  public record Decision(
      String outcome,
      @Nullable String limitName,
      @Nullable Long retryAfterNs,
      @Nullable Long remaining,
      @Nullable Long capacity) {
    static Decision of(dev.sluice.Decision decision) {
      if (decision instanceof dev.sluice.Decision.Granted granted) {
        return new Decision("GRANTED", null, null, granted.remaining(), null);
      }
      if (decision instanceof dev.sluice.Decision.Denied denied) {
        return new Decision("DENIED", denied.limitName(), denied.retryAfterNanos(), null, null);
      }
      if (decision instanceof dev.sluice.Decision.Depleted depleted) {
        return new Decision("DEPLETED", depleted.limitName(), null, null, null);
      }
      dev.sluice.Decision.Impossible impossible = (dev.sluice.Decision.Impossible) decision;
      return new Decision("IMPOSSIBLE", impossible.limitName(), null, null, impossible.capacity());
    }
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(
        HttpRoute.of("GET", ALL, this::list).listing(),
        HttpRoute.of("GET", ONE, this::get),
        HttpRoute.of("PUT", ONE, this::set).needing(Kind.ADMIN, "name"),
        HttpRoute.of("DELETE", ONE, this::remove),
        HttpRoute.of("POST", "/v1/decide", this::decide).needingSome(Kind.LIMIT));
  }

  private HandlerResult list(HttpRequest request) {
    return HandlerResult.later(
        limits.standings(request.caller()),
        all ->
            HttpResponse.ok(
                Map.of("limits", all.stream().map(LimitRoutes.LimitStatsJson::of).toList())));
  }

  private HandlerResult get(HttpRequest request) {
    return HandlerResult.later(
        limits.standing(request.caller(), request.parameter("name")),
        found -> HttpResponse.ok(LimitRoutes.LimitStatsJson.of(found)));
  }

  private HandlerResult set(HttpRequest request) {
    LimitOperations.Rate rate = request.read(LimitRoutes.LimitJson.class).toRate();
    String key = request.parameter("name");
    return HandlerResult.later(
        limits.set(request.caller(), key, rate),
        done -> HttpResponse.ok(LimitRoutes.NamedLimitJson.of(key, rate)));
  }

  private HandlerResult remove(HttpRequest request) {
    return HandlerResult.later(
        limits.remove(request.caller(), request.parameter("name")), done -> HttpResponse.nothing());
  }

  private HandlerResult decide(HttpRequest request) {
    Decide wanted = request.read(Decide.class);
    Map<String, @Nullable Long> given = wanted.costs();
    if (given == null) {
      throw ApiException.invalid("costs is required");
    }
    Map<String, Long> costs = MessageJson.present("costs", given);
    Boolean peek = wanted.peek();
    CompletableFuture<dev.sluice.Decision> decided =
        limits.decide(request.caller(), costs, peek != null && peek);
    return HandlerResult.later(
        decided.thenCombine(limits.standings(costs.keySet()), LimitRoutes::answer), same -> same);
  }

  private static HttpResponse answer(
      dev.sluice.Decision decided, List<LimitBackend.Standing> standings) {
    Decision decision = Decision.of(decided);
    String binding = decision.limitName();
    Map<String, String> headers =
        fields(
            standings.stream()
                .filter(each -> binding == null || each.key().equals(binding))
                .limit(MAX_NAMED)
                .toList());
    Long retryAfterNs = decision.retryAfterNs();
    if (retryAfterNs != null) {
      headers.put("Retry-After", Long.toString(seconds(retryAfterNs)));
    }
    return HttpResponse.json(binding == null ? OK : TOO_MANY_REQUESTS, decision).with(headers);
  }

  /** Rounds up, so that a caller that retries then is not too early. */
  public static long seconds(long nanos) {
    return nanos / NANOS + (nanos % NANOS == 0 ? 0 : 1);
  }

  private static Map<String, String> fields(List<LimitBackend.Standing> standings) {
    Map<String, String> headers = new LinkedHashMap<>();
    String policies = standings.stream().map(LimitRoutes::policy).collect(LIST);
    if (!policies.isEmpty()) {
      headers.put("RateLimit-Policy", policies);
    }
    String states = standings.stream().flatMap(LimitRoutes::state).collect(LIST);
    if (!states.isEmpty()) {
      headers.put("RateLimit", states);
    }
    return headers;
  }

  private static String policy(LimitBackend.Standing limit) {
    LimitOperations.Rate rate = limit.rate();
    String quota = quoted(limit.key()) + ";q=" + whole(rate.burst());
    return rate.perSecond() > 0
        ? quota + ";w=" + whole(Math.ceil(rate.burst() / rate.perSecond()))
        : quota;
  }

  /** Returns the level of a limit; empty if it is unknown. */
  private static Stream<String> state(LimitBackend.Standing limit) {
    Double level = limit.level();
    if (level == null) {
      return Stream.empty();
    }
    LimitOperations.Rate rate = limit.rate();
    String left = quoted(limit.key()) + ";r=" + whole(level);
    return Stream.of(
        rate.perSecond() > 0
            ? left + ";t=" + whole(Math.ceil((rate.burst() - level) / rate.perSecond()))
            : left);
  }

  /** An integer of a structured field, which has at most 15 digits. */
  private static long whole(double value) {
    return (long) Math.min(MAX_INTEGER, Math.max(0, value));
  }

  /** A string of a structured field: printable ASCII; everything else is percent-encoded. */
  public static String quoted(String key) {
    StringBuilder text = new StringBuilder("\"");
    for (byte each : key.getBytes(StandardCharsets.UTF_8)) {
      if (each == '"' || each == '\\') {
        text.append('\\').append((char) each);
      } else if (each >= ' ' && each <= '~') {
        text.append((char) each);
      } else {
        text.append("%%%02X".formatted(each));
      }
    }
    return text.append('"').toString();
  }
}
