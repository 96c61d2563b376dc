package dev.sluice.governor.internal.monitor;

import dev.sluice.governor.ProviderResponse;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The limits in the headers of a provider's response. Values that cannot be parsed or are
 * implausible count as absent.
 *
 * @param tokens of all kinds together
 * @param requests of the model
 * @param retryAfter from now; null if it does not say
 */
public record ProviderRateLimitHeaders(
    ProviderRateLimitHeaders.HeaderQuota tokens,
    ProviderRateLimitHeaders.HeaderQuota requests,
    @Nullable Duration retryAfter) {
  /** Longer values are no figures; parsing them would be work for nothing. */
  private static final int LONGEST_VALUE = 64;

  /** The largest plausible number; the same as in {@link ModelBudget}, and far from an overflow. */
  private static final long MOST = 1_000_000_000_000L;

  private static final Duration LONGEST = Duration.ofDays(366);
  private static final Pattern WHOLE = Pattern.compile("\\d{1,13}");
  private static final Pattern DECIMAL = Pattern.compile("(\\d{1,9})(?:\\.(\\d{1,9})\\d*)?");
  private static final Pattern GO_PART =
      Pattern.compile("(\\d{1,9})(?:\\.(\\d{1,9})\\d*)?(h|ms|m|s|us|µs|ns)");
  private static final String ANTHROPIC = "anthropic-ratelimit-%s-%s";
  private static final String OPENAI = "x-ratelimit-%2$s-%1$s";

  /**
   * A limit of a provider.
   *
   * @param limit in a minute; null if it does not say
   * @param remaining of it now; null if it does not say
   * @param reset until all of it is there again; null if it does not say
   */
  public record HeaderQuota(
      @Nullable Long limit, @Nullable Long remaining, @Nullable Duration reset) {
    public static final ProviderRateLimitHeaders.HeaderQuota UNSAID =
        new ProviderRateLimitHeaders.HeaderQuota(null, null, null);

    /** Returns whether it contains anything. */
    boolean said() {
      return limit != null || remaining != null;
    }
  }

  /**
   * Reads them.
   *
   * @param wallNow for what is given as a date
   */
  public static ProviderRateLimitHeaders of(ProviderResponse answer, Instant wallNow) {
    return new ProviderRateLimitHeaders(
        tokens(answer, wallNow), quota(answer, "requests", wallNow), retryAfter(answer, wallNow));
  }

  private static ProviderRateLimitHeaders.HeaderQuota tokens(
      ProviderResponse answer, Instant wallNow) {
    ProviderRateLimitHeaders.HeaderQuota all = quota(answer, "tokens", wallNow);
    if (all.said()) {
      return all;
    }
    ProviderRateLimitHeaders.HeaderQuota input = quota(answer, ANTHROPIC, "input-tokens", wallNow);
    ProviderRateLimitHeaders.HeaderQuota output =
        quota(answer, ANTHROPIC, "output-tokens", wallNow);
    return together(input, output);
  }

  /**
   * Input and output have limits of their own, a budget counts their sum: more than both together
   * cannot be used, and nothing once either is used up.
   */
  private static ProviderRateLimitHeaders.HeaderQuota together(
      ProviderRateLimitHeaders.HeaderQuota input, ProviderRateLimitHeaders.HeaderQuota output) {
    Long limit =
        input.limit == null || output.limit == null ? null : (Long) (input.limit + output.limit);
    boolean usedUp = isZero(input.remaining) || isZero(output.remaining);
    if (usedUp) {
      return new ProviderRateLimitHeaders.HeaderQuota(limit, 0L, longer(input.reset, output.reset));
    }
    Long remaining =
        input.remaining == null || output.remaining == null
            ? null
            : (Long) (input.remaining + output.remaining);
    return new ProviderRateLimitHeaders.HeaderQuota(
        limit, remaining, longer(input.reset, output.reset));
  }

  private static boolean isZero(@Nullable Long value) {
    return value != null && value == 0;
  }

  static @Nullable Duration longer(@Nullable Duration one, @Nullable Duration other) {
    if (one == null || other == null) {
      return one == null ? other : one;
    }
    return one.compareTo(other) >= 0 ? one : other;
  }

  private static ProviderRateLimitHeaders.HeaderQuota quota(
      ProviderResponse answer, String kind, Instant wallNow) {
    ProviderRateLimitHeaders.HeaderQuota anthropic = quota(answer, ANTHROPIC, kind, wallNow);
    return anthropic.said() ? anthropic : quota(answer, OPENAI, kind, wallNow);
  }

  private static ProviderRateLimitHeaders.HeaderQuota quota(
      ProviderResponse answer, String names, String kind, Instant wallNow) {
    Optional<String> limitText = answer.header(names.formatted(kind, "limit"));
    Long limit = limitText.flatMap(ProviderRateLimitHeaders::whole).orElse(null);
    if (limitText.isPresent() && (limit == null || limit == 0)) {
      // Azure says 0 or -1 where it has no limit: what is left of that is nothing to go by.
      return ProviderRateLimitHeaders.HeaderQuota.UNSAID;
    }
    return new ProviderRateLimitHeaders.HeaderQuota(
        limit,
        answer
            .header(names.formatted(kind, "remaining"))
            .flatMap(ProviderRateLimitHeaders::whole)
            .orElse(null),
        answer
            .header(names.formatted(kind, "reset"))
            .flatMap(text -> goDuration(text).or(() -> timeUntil(text, wallNow)))
            .orElse(null));
  }

  private static @Nullable Duration retryAfter(ProviderResponse answer, Instant wallNow) {
    return answer
        .header("retry-after-ms")
        .flatMap(text -> seconds(text).map(value -> value.dividedBy(1_000)))
        .or(
            () ->
                answer
                    .header("retry-after")
                    .flatMap(text -> seconds(text).or(() -> untilHttpDate(text, wallNow))))
        .filter(wait -> wait.compareTo(LONGEST) <= 0)
        .orElse(null);
  }

  // ---- values

  static Optional<Long> whole(String text) {
    return WHOLE.matcher(text).matches()
        ? Optional.of(Long.parseLong(text)).filter(value -> value <= MOST)
        : Optional.empty();
  }

  /** Seconds with or without a fraction. */
  static Optional<Duration> seconds(String text) {
    Matcher matcher = DECIMAL.matcher(text);
    return text.length() <= LONGEST_VALUE && matcher.matches()
        ? Optional.of(decimal(matcher, 1_000_000_000L))
        : Optional.empty();
  }

  /** A duration as Go prints it: {@code 6m0s}, {@code 12ms}, {@code 1h2m3.5s}. */
  public static Optional<Duration> goDuration(String text) {
    if (text.isEmpty() || text.length() > LONGEST_VALUE) {
      return Optional.empty();
    }
    Duration sum = Duration.ZERO;
    Matcher part = GO_PART.matcher(text);
    int end = 0;
    while (end < text.length()) {
      if (!part.find(end) || part.start() != end) {
        return Optional.empty();
      }
      sum = sum.plus(decimal(part, unitNanos(part.group(3))));
      end = part.end();
    }
    return Optional.of(sum).filter(value -> value.compareTo(LONGEST) <= 0);
  }

  private static long unitNanos(String unit) {
    return switch (unit) {
      case "h" -> 3_600_000_000_000L;
      case "m" -> 60_000_000_000L;
      case "s" -> 1_000_000_000L;
      case "ms" -> 1_000_000L;
      case "ns" -> 1L;
      default -> 1_000L;
    };
  }

  /** Group 1 is whole, group 2 the digits of the fraction, if any. */
  private static Duration decimal(Matcher matcher, long unitNanos) {
    Duration whole = Duration.ofNanos(unitNanos).multipliedBy(Long.parseLong(matcher.group(1)));
    String fraction = matcher.group(2);
    if (fraction == null) {
      return whole;
    }
    long billionths = Long.parseLong((fraction + "00000000").substring(0, 9));
    return whole.plus(
        Duration.ofNanos(unitNanos).multipliedBy(billionths).dividedBy(1_000_000_000));
  }

  /** A moment as RFC 3339 has it; zero if it has passed. */
  public static Optional<Duration> timeUntil(String text, Instant wallNow) {
    return until(text, DateTimeFormatter.ISO_OFFSET_DATE_TIME, wallNow);
  }

  private static Optional<Duration> untilHttpDate(String text, Instant wallNow) {
    return until(text, DateTimeFormatter.RFC_1123_DATE_TIME, wallNow);
  }

  private static Optional<Duration> until(String text, DateTimeFormatter format, Instant wallNow) {
    if (text.length() > LONGEST_VALUE) {
      return Optional.empty();
    }
    try {
      Instant moment = OffsetDateTime.parse(text, format).toInstant();
      Duration wait = Duration.between(wallNow, moment);
      return Optional.of(wait.isNegative() ? Duration.ZERO : wait)
          .filter(value -> value.compareTo(LONGEST) <= 0);
    } catch (DateTimeException | ArithmeticException unreadable) {
      return Optional.empty();
    }
  }
}
