package dev.sluice.server;

import java.time.InstantSource;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Ends calls that wait or stream once their key is revoked, is changed or expires.
 *
 * <p>Thread-safe. {@link #check} is called after every change of keys, and each second for those
 * that expire; in between, {@link KeyWatch#isValid} notices an expiry at the moment of delivery.
 */
final class KeyWatches {
  private final Access.Authenticator authenticator;
  private final InstantSource clock;
  private final Set<KeyWatch> open = ConcurrentHashMap.newKeySet();

  KeyWatches(Access.Authenticator authenticator, InstantSource clock) {
    this.authenticator = authenticator;
    this.clock = clock;
  }

  /**
   * Returns the key and the caller of a request.
   *
   * @param authorization the value of that header, null without one
   * @throws ApiException if a key is required and this is not a valid one
   */
  KeyInUse authenticate(@Nullable String authorization) {
    return new KeyInUse(this, authorization, authenticator.authenticate(authorization));
  }

  /** Throws unless the key is valid and allows what it did. */
  void requireSame(KeyInUse key) {
    if (!authenticator.authenticate(key.authorization()).equals(key.caller())) {
      throw new ApiException(ErrorKind.UNAVAILABLE, "the key's permissions changed; call again");
    }
  }

  boolean isExpired(KeyInUse key) {
    return key.caller().isExpired(clock.millis());
  }

  void add(KeyWatch watch) {
    open.add(watch);
  }

  void remove(KeyWatch watch) {
    open.remove(watch);
  }

  /** Returns how many calls are watched. */
  int count() {
    return open.size();
  }

  /** Ends every call whose key is not what it was. */
  void check() {
    open.forEach(KeyWatch::check);
  }
}
