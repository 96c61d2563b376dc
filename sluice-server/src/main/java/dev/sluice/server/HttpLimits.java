package dev.sluice.server;

import dev.sluice.ThrottleDecision;
import dev.sluice.server.Permission.Kind;
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
final class HttpLimits implements HttpRoute.Group {
  private static final int OK = 200;
  private static final int TOO_MANY_REQUESTS = 429;
  private static final long NANOS = 1_000_000_000L;
  private static final double MAX_INTEGER = 999_999_999_999_999.0;

  /** The header fields name no more keys, so that every client can take them. */
  private static final int MAX_NAMED = 8;

  private static final Collector<CharSequence, ?, String> LIST = Collectors.joining(", ");

  private static final String ALL = "/v1/limits";
  private static final String ONE = ALL + "/{key}";

  private final LimitApi limits;

  HttpLimits(LimitApi limits) {
    this.limits = limits;
  }

  /** What a key may have. */
  record Rate(@Nullable Double ratePerSecond, @Nullable Double burst) {
    LimitApi.Rate toRate() {
      if (ratePerSecond == null || burst == null) {
        throw ApiException.invalid(
            (ratePerSecond == null ? "rate_per_second" : "burst") + " must be there");
      }
      return new LimitApi.Rate(ratePerSecond, burst);
    }
  }

  /** A limit. */
  record Limit(String key, double ratePerSecond, double burst) {
    static Limit of(String key, LimitApi.Rate rate) {
      return new Limit(key, rate.perSecond(), rate.burst());
    }
  }

  /** A limit and what is left of it, if that is known. */
  record Standing(String key, double ratePerSecond, double burst, @Nullable Double tokens) {
    static Standing of(LimitStore.Standing standing) {
      return new Standing(
          standing.key(), standing.rate().perSecond(), standing.rate().burst(), standing.level());
    }
  }

  /** Tokens by key. */
  record Decide(@Nullable Map<String, @Nullable Long> costs, @Nullable Boolean dryRun) {}

  /** What was decided; only what applies is there. */
  record Decision(
      String outcome,
      @Nullable String bindingKey,
      @Nullable Long retryAfterNs,
      @Nullable Double burst) {
    static Decision of(ThrottleDecision decision) {
      if (decision instanceof ThrottleDecision.Denied denied) {
        return new Decision("DENIED", denied.bindingKey(), denied.retryAfterNanos(), null);
      }
      if (decision instanceof ThrottleDecision.Depleted depleted) {
        return new Decision("DEPLETED", depleted.bindingKey(), null, null);
      }
      return decision instanceof ThrottleDecision.Impossible impossible
          ? new Decision("IMPOSSIBLE", impossible.bindingKey(), null, impossible.burst())
          : new Decision("GRANTED", null, null, null);
    }
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(
        HttpRoute.of("GET", ALL, this::list).listing(),
        HttpRoute.of("GET", ONE, this::get),
        HttpRoute.of("PUT", ONE, this::set).needing(Kind.ADMIN, "key"),
        HttpRoute.of("DELETE", ONE, this::remove),
        HttpRoute.of("POST", "/v1/decide", this::decide).needingSome(Kind.LIMIT));
  }

  private HttpReply list(HttpRequest request) {
    return HttpReply.later(
        limits.standings(request.caller()),
        all -> HttpAnswer.ok(Map.of("limits", all.stream().map(Standing::of).toList())));
  }

  private HttpReply get(HttpRequest request) {
    return HttpReply.later(
        limits.standing(request.caller(), request.parameter("key")),
        found -> HttpAnswer.ok(Standing.of(found)));
  }

  private HttpReply set(HttpRequest request) {
    LimitApi.Rate rate = request.read(Rate.class).toRate();
    String key = request.parameter("key");
    return HttpReply.later(
        limits.set(request.caller(), key, rate), done -> HttpAnswer.ok(Limit.of(key, rate)));
  }

  private HttpReply remove(HttpRequest request) {
    return HttpReply.later(
        limits.remove(request.caller(), request.parameter("key")), done -> HttpAnswer.nothing());
  }

  private HttpReply decide(HttpRequest request) {
    Decide wanted = request.read(Decide.class);
    Map<String, @Nullable Long> given = wanted.costs();
    if (given == null) {
      throw ApiException.invalid("costs must be there");
    }
    Map<String, Long> costs = JsonMessages.present("costs", given);
    Boolean dryRun = wanted.dryRun();
    CompletableFuture<ThrottleDecision> decided =
        limits.decide(request.caller(), costs, dryRun != null && dryRun);
    return HttpReply.later(
        decided.thenCombine(limits.standings(costs.keySet()), HttpLimits::answer), same -> same);
  }

  private static HttpAnswer answer(ThrottleDecision decided, List<LimitStore.Standing> standings) {
    Decision decision = Decision.of(decided);
    String binding = decision.bindingKey();
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
    return HttpAnswer.json(binding == null ? OK : TOO_MANY_REQUESTS, decision).with(headers);
  }

  /** Rounded up: whoever comes back then is not too early. */
  static long seconds(long nanos) {
    return nanos / NANOS + (nanos % NANOS == 0 ? 0 : 1);
  }

  private static Map<String, String> fields(List<LimitStore.Standing> standings) {
    Map<String, String> headers = new LinkedHashMap<>();
    String policies = standings.stream().map(HttpLimits::policy).collect(LIST);
    if (!policies.isEmpty()) {
      headers.put("RateLimit-Policy", policies);
    }
    String states = standings.stream().flatMap(HttpLimits::state).collect(LIST);
    if (!states.isEmpty()) {
      headers.put("RateLimit", states);
    }
    return headers;
  }

  private static String policy(LimitStore.Standing limit) {
    LimitApi.Rate rate = limit.rate();
    String quota = quoted(limit.key()) + ";q=" + whole(rate.burst());
    return rate.perSecond() > 0
        ? quota + ";w=" + whole(Math.ceil(rate.burst() / rate.perSecond()))
        : quota;
  }

  /** Nothing if the level is not known. */
  private static Stream<String> state(LimitStore.Standing limit) {
    Double level = limit.level();
    if (level == null) {
      return Stream.empty();
    }
    LimitApi.Rate rate = limit.rate();
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
  static String quoted(String key) {
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
