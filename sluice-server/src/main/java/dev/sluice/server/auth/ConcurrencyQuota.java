package dev.sluice.server.auth;

import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Limits how many of something all callers together, and one account, may hold at once. An account
 * is a key that a superadmin made, with all keys that descend from it. Superadmins, and callers of
 * a server without keys, are bound by the total alone. Thread-safe.
 */
public final class ConcurrencyQuota {
  private final String what;
  private final int most;
  private final int mostOfAccount;

  // Guarded by this.
  private final Map<String, Integer> byAccount = new HashMap<>();
  private int held;

  /** {@code what} names the things held, in error messages. */
  public ConcurrencyQuota(String what, int most, int mostOfAccount) {
    this.what = what;
    this.most = most;
    this.mostOfAccount = mostOfAccount;
  }

  /** A held part of the quota; closing returns it, once. */
  public interface Hold extends AutoCloseable {
    @Override
    void close();
  }

  /**
   * Takes one for the account of {@code caller}.
   *
   * @throws ApiException if the total or the account has reached its limit
   */
  public synchronized Hold take(Caller caller) {
    if (held >= most) {
      throw exhausted("%s must be at most %d at once, but were %d".formatted(what, most, held));
    }
    String account = caller.superadmin() ? null : caller.account();
    if (account != null) {
      int own = byAccount.getOrDefault(account, 0);
      if (own >= mostOfAccount) {
        throw exhausted(
            "%s of one account must be at most %d at once, but were %d"
                .formatted(what, mostOfAccount, own));
      }
      byAccount.put(account, own + 1);
    }
    held++;
    AtomicBoolean given = new AtomicBoolean();
    return () -> {
      if (given.compareAndSet(false, true)) {
        give(account);
      }
    };
  }

  private synchronized void give(@Nullable String account) {
    held--;
    if (account != null) {
      byAccount.computeIfPresent(account, (same, own) -> own == 1 ? null : own - 1);
    }
  }

  public synchronized int held() {
    return held;
  }

  private static ApiException exhausted(String rule) {
    return new ApiException(ErrorKind.RESOURCE_EXHAUSTED, rule);
  }
}
