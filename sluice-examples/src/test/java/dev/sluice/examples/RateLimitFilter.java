package dev.sluice.examples;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.Limits;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.web.filter.OncePerRequestFilter;

/** docs/recipes/spring-mvc.md: a limit for every caller, and answers that say when to come back. */
public final class RateLimitFilter extends OncePerRequestFilter {
  private final Limits throttle;

  public RateLimitFilter(Limits throttle) {
    this.throttle = throttle;
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    String key = "caller:" + caller(request);
    Decision decision = throttle.decide(key, 1);
    throttle.stats(key).ifPresent(stats -> describe(stats, response));
    if (decision.isGranted()) {
      chain.doFilter(request, response);
      return;
    }
    if (decision instanceof Decision.Denied denied) {
      long seconds = denied.retryAfter().plusNanos(999_999_999).toSeconds(); // never too early
      response.setHeader(HttpHeaders.RETRY_AFTER, String.valueOf(seconds));
    }
    response.setStatus(HttpStatus.TOO_MANY_REQUESTS.value());
  }

  /** Returns the user or else the address, never a name that a caller can choose. */
  private static String caller(HttpServletRequest request) {
    String user = request.getRemoteUser();
    return user != null ? user : request.getRemoteAddr();
  }

  private static void describe(LimitStats stats, HttpServletResponse response) {
    Limit.Balanced limit = (Limit.Balanced) stats.limit();
    double secondsPerToken = limit.refillPeriod().toSeconds() / (double) limit.refillTokens();
    long window = (long) Math.ceil(limit.capacity() * secondsPerToken);
    double missing = limit.capacity() - stats.level();
    long untilFull = (long) Math.ceil(missing * secondsPerToken);
    response.setHeader(
        "RateLimit-Policy", "\"caller\";q=%d;w=%d".formatted(limit.capacity(), window));
    response.setHeader(
        "RateLimit", "\"caller\";r=%d;t=%d".formatted((long) stats.level(), untilFull));
  }
}
