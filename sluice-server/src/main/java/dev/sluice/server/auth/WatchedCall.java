package dev.sluice.server.auth;

import dev.sluice.server.support.ApiException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends one call that waits or streams when its key does not stay as it was. Thread-safe. */
public final class WatchedCall {
  private static final Logger LOG = LoggerFactory.getLogger(WatchedCall.class);

  private final RevocationWatcher watches;
  private final Credential key;
  private final Consumer<ApiException> end;
  private final AtomicBoolean over = new AtomicBoolean();

  WatchedCall(RevocationWatcher watches, Credential key, Consumer<ApiException> end) {
    this.watches = watches;
    this.key = key;
    this.end = end;
  }

  /** Ends the call at once if its key has changed since the call was authenticated. */
  public void start() {
    if (over.get()) {
      return;
    }
    watches.add(this);
    check();
    if (over.get()) {
      watches.remove(this);
    }
  }

  /** Returns whether the call may still be answered; ask right before each delivery. */
  public boolean isValid() {
    if (!over.get() && watches.isExpired(key)) {
      check();
    }
    return !over.get();
  }

  /** Ends the call unless its key is valid and has its earlier permissions. */
  void check() {
    try {
      key.requireSame();
    } catch (RuntimeException refused) {
      end(ApiException.of(refused));
    }
  }

  private void end(ApiException why) {
    if (!over.compareAndSet(false, true)) {
      return;
    }
    watches.remove(this);
    try {
      end.accept(why);
    } catch (RuntimeException failure) {
      LOG.error("a call could not be ended", failure);
    }
  }

  /** Stops watching: the call is over. */
  public void close() {
    finish();
  }

  /**
   * Stops watching, and returns whether the call has not been ended before: then it will not be,
   * and may do what cannot be undone.
   */
  public boolean finish() {
    boolean valid = over.compareAndSet(false, true);
    watches.remove(this);
    return valid;
  }
}
