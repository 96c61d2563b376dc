package dev.sluice.server.auth;

import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.time.InstantSource;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Ends calls that wait or stream once their key is revoked, is changed or expires.
 *
 * <p>Thread-safe. {@link #check} is called after every change of keys, and each second for those
 * that expire; in between, {@link WatchedCall#isValid} notices an expiry at the moment of delivery.
 */
public final class RevocationWatcher {
  private final Authenticator authenticator;
  private final InstantSource clock;
  private final Set<WatchedCall> open = ConcurrentHashMap.newKeySet();

  /** Knows keys. */
  public interface Authenticator {
    /**
     * Returns the caller of a request.
     *
     * @param authorization the value of that header, null without one
     * @throws ApiException if a key is needed and this is none
     */
    Caller authenticate(@Nullable String authorization);
  }

  public RevocationWatcher(Authenticator authenticator, InstantSource clock) {
    this.authenticator = authenticator;
    this.clock = clock;
  }

  /**
   * Returns the key and the caller of a request.
   *
   * @param authorization the value of that header, null without one
   * @param connection identifies the connection of the request
   * @throws ApiException if a key is required and this is not a valid one
   */
  public Credential authenticate(@Nullable String authorization, Object connection) {
    return new Credential(
        this, authorization, authenticator.authenticate(authorization), connection);
  }

  /** Throws unless the key is valid and has its earlier permissions. */
  void requireSame(Credential key) {
    if (!authenticator.authenticate(key.authorization()).equals(key.caller())) {
      throw new ApiException(ErrorKind.UNAVAILABLE, "the key's permissions changed; call again");
    }
  }

  boolean isExpired(Credential key) {
    return key.caller().isExpired(clock.millis());
  }

  void add(WatchedCall watch) {
    open.add(watch);
  }

  void remove(WatchedCall watch) {
    open.remove(watch);
  }

  /** Returns how many calls are watched. */
  public int count() {
    return open.size();
  }

  /** Ends every call whose key has changed. */
  public void check() {
    open.forEach(WatchedCall::check);
  }
}
