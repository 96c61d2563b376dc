package dev.sluice.server.auth;

import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;

/**
 * Creates, lists, changes and revokes API keys. Every operation needs some admin permission. A
 * caller grants what {@link Permission#grants} allows, for at most the lifetime of its own key. It
 * cannot see or change a key that allows more than it could grant, nor a key of another account
 * without permissions. A call whose own key is revoked meanwhile changes nothing.
 */
public final class ApiKeyOperations {
  private static final int MAX_NAME = 256;

  private final ApiKeyStore keys;
  private final InstantSource clock;

  /**
   * A key to be made.
   *
   * @param name for people and logs
   * @param expiresAtMs when it ends, in milliseconds since 1970; 0 for never
   * @param superadmin whether it allows everything
   * @param permissions what it allows otherwise
   */
  public record NewKey(
      String name, long expiresAtMs, boolean superadmin, List<Permission> permissions) {}

  /**
   * A key that was made.
   *
   * @param id what it is known by
   * @param token the secret, which is nowhere else
   */
  public record Created(String id, String token) {}

  public ApiKeyOperations(ApiKeyStore keys, InstantSource clock) {
    this.keys = keys;
    this.clock = clock;
  }

  public Created create(Credential by, NewKey wanted) {
    Caller caller = by.caller();
    caller.requireSome(Kind.ADMIN);
    requireName(wanted.name());
    long nowMs = clock.millis();
    requireExpiry(wanted.expiresAtMs(), nowMs);
    requireMayGrant(caller, wanted.superadmin(), wanted.permissions());
    requireNoLonger(caller, wanted.expiresAtMs());
    Created created = new Created(UUID.randomUUID().toString(), ApiKeyTokens.random());
    keys.add(
        by,
        new ApiKey(
            created.id(),
            wanted.name(),
            ApiKeyTokens.hash(created.token()),
            nowMs,
            wanted.expiresAtMs(),
            wanted.superadmin(),
            wanted.permissions(),
            caller.superadmin() ? created.id() : caller.account(),
            caller.superadmin() ? wanted.permissions() : keys.scopeOf(caller.account())));
    return created;
  }

  public void revoke(Credential by, String id) {
    Caller caller = by.caller();
    caller.requireSome(Kind.ADMIN);
    keys.remove(by, id, key -> requireMayManage(caller, key));
  }

  /** Returns the keys that the caller may change. */
  public List<ApiKey> list(Caller caller) {
    caller.requireSome(Kind.ADMIN);
    return keys.list().stream().filter(key -> mayManage(caller, key)).toList();
  }

  public ApiKey get(Caller caller, String id) {
    caller.requireSome(Kind.ADMIN);
    ApiKey key = keys.get(id);
    requireMayManage(caller, key);
    return key;
  }

  public void setPermissions(Credential by, String id, List<Permission> permissions) {
    Caller caller = by.caller();
    caller.requireSome(Kind.ADMIN);
    requireMayGrant(caller, false, permissions);
    keys.replace(
        by,
        id,
        key -> {
          requireMayManage(caller, key);
          if (!allowsAll(key, permissions)) {
            requireNoLonger(caller, key.expiresAtMs());
          }
          return caller.superadmin()
              ? key.withPermissionsAndScope(permissions)
              : key.withPermissions(permissions);
        });
  }

  private static void requireName(String name) {
    if (name.isEmpty() || name.length() > MAX_NAME) {
      throw ApiException.invalid(
          "name must have 1 to %d characters, but had %d".formatted(MAX_NAME, name.length()));
    }
    if (name.chars().anyMatch(Character::isISOControl)) {
      throw ApiException.invalid("name must have no control characters");
    }
  }

  private static void requireExpiry(long expiresAtMs, long nowMs) {
    if (expiresAtMs != ApiKey.NEVER && expiresAtMs <= nowMs) {
      throw ApiException.invalid(
          "expires_at_ms must be 0 or later than now, %d, but was %d"
              .formatted(nowMs, expiresAtMs));
    }
  }

  /** Requires that a key does not outlive the key that grants its permissions. */
  private static void requireNoLonger(Caller caller, long expiresAtMs) {
    if (caller.isOutlivedBy(expiresAtMs)) {
      throw new ApiException(
          ErrorKind.PERMISSION_DENIED,
          "a key must not outlive the one that grants it: expires_at_ms must be at most %d, but was %s"
              .formatted(
                  caller.expiresAtMs(), expiresAtMs == ApiKey.NEVER ? "0 (never)" : expiresAtMs));
    }
  }

  private static void requireMayManage(Caller caller, ApiKey key) {
    requireMayGrant(caller, key.superadmin(), key.permissions());
    if (!mayManage(caller, key)) {
      throw Caller.denied("admin on *, for a key of another account without permissions");
    }
  }

  /** A key without permissions, which any caller could grant, is managed by its own account. */
  private static boolean mayManage(Caller caller, ApiKey key) {
    return mayGrant(caller, key.superadmin(), key.permissions())
        && (!key.permissions().isEmpty()
            || key.owner().equals(caller.account())
            || caller.mayAll(Kind.ADMIN));
  }

  private static void requireMayGrant(
      Caller caller, boolean superadmin, List<Permission> permissions) {
    if (!mayGrant(caller, superadmin, permissions)) {
      throw Caller.denied("every permission of that key");
    }
  }

  private static boolean mayGrant(Caller caller, boolean superadmin, List<Permission> permissions) {
    return caller.superadmin()
        || (!superadmin
            && permissions.stream()
                .allMatch(each -> caller.permissions().stream().anyMatch(has -> has.grants(each))));
  }

  private static boolean allowsAll(ApiKey key, List<Permission> wanted) {
    return wanted.stream()
        .allMatch(each -> key.permissions().stream().anyMatch(has -> has.covers(each)));
  }
}
