package dev.sluice.testkit.load;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Log of the answers that one node of a fleet got, in a file that survives a killed process. Times
 * are those of the store. {@link BudgetRecord} reads the files of a fleet.
 *
 * @since 0.1
 */
public final class BudgetLog implements BudgetListener, AutoCloseable {
  static final String NO_KEY = "-";

  private final OutputStream out;

  /**
   * Begins a file.
   *
   * @param file is overwritten
   */
  public BudgetLog(Path file) {
    try {
      out = Files.newOutputStream(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void write(Object... words) {
    StringBuilder line = new StringBuilder();
    for (Object word : words) {
      line.append(line.isEmpty() ? "" : " ").append(word);
    }
    byte[] bytes = line.append('\n').toString().getBytes(StandardCharsets.UTF_8);
    try {
      synchronized (out) {
        out.write(bytes);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long micros(long nanos) {
    return TimeUnit.NANOSECONDS.toMicros(nanos);
  }

  @Override
  public void requested(TokenRequest request, TokenDecision outcome, long nanos) {
    write("asked", request.model(), request.tokens(), outcome.getClass().getSimpleName());
  }

  @Override
  public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
    String key = request.idempotencyKey();
    write(
        "granted",
        request.model(),
        micros(nanos),
        tokens,
        micros(waitedNanos),
        request.priorityClass(),
        key == null ? NO_KEY : key,
        request.tenant());
  }

  @Override
  public void settled(TokenSettlement settled, long grantedNanos, long nanos) {
    if (settled.refundedTokens() > 0) {
      write("refunded", settled.model(), micros(grantedNanos), settled.refundedTokens());
    }
  }

  /** Logs that the node declared an outage of its store. */
  public void outageDeclared(String cause) {
    write("outage", cause.replace(' ', '_'));
  }

  /** Logs that the store decides again. */
  public void outageEnded() {
    write("returned", TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis()));
  }

  /** Logs a request with a key before it is made for the first time. */
  void asking(TokenRequest request) {
    String key = request.idempotencyKey();
    if (key != null) {
      write(
          "asking",
          request.model(),
          request.tokens(),
          request.priorityClass(),
          request.tenant(),
          key);
    }
  }

  /** Logs that nothing is held for a request by the will of its caller. */
  void over(@Nullable String key) {
    if (key != null) {
      write("over", key);
    }
  }

  /** Logs that a caller was told of a grant. */
  void told(@Nullable String key, String reservation) {
    if (key != null) {
      write("told", key, reservation);
    }
  }

  /** Notes that a grant reached its waiter, so it is not returned as unclaimed. */
  void claimed(@Nullable String key) {
    if (key != null) {
      write("claimed", key);
    }
  }

  /** Records that tokens of a request may be returned without an answer to a caller. */
  void mayReturn(String key, long tokens) {
    write("maybe", key, tokens);
  }

  /** Logs that {@code tokens} are about to be refunded; a killed node does not see the answer. */
  void settling(@Nullable String key, long tokens) {
    if (key != null) {
      write("settling", key, tokens);
    }
  }

  /** Logs that the refund was answered. */
  void settled(@Nullable String key) {
    if (key != null) {
      write("settled", key);
    }
  }

  /** Logs a call that took long, and how much of that threads of its process did not run. */
  public void slow(String call, long nanos, long standstillNanos) {
    write("slow", call, micros(nanos), micros(standstillNanos));
  }

  /** A call failed. */
  void failed(String call, Throwable failure) {
    write("failed", call, failure.getClass().getSimpleName());
  }

  /** A ticket came to an end without a grant. */
  public void ended(String how) {
    write("ended", how);
  }

  /** Something was not as it must be. */
  void wrong(String what) {
    write("wrong", what);
  }

  @Override
  public void close() {
    try {
      out.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
