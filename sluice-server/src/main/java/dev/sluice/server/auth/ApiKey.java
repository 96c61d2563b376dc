package dev.sluice.server.auth;

import java.util.List;
import java.util.stream.Stream;

/**
 * An API key as it is kept: of its token only the hash.
 *
 * @param id a UUID
 * @param name for people and logs
 * @param tokenHash SHA-256 of the token, in hex
 * @param createdAtMs when it was made, in milliseconds since 1970
 * @param expiresAtMs when it ends; 0 for never
 * @param superadmin whether it allows everything
 * @param permissions what it allows otherwise
 * @param owner the id of the first key of its account: of the one that a superadmin made and from
 *     which this one descends, or of this one
 * @param scope the permissions that superadmins ever gave the first key of its account; queues and
 *     limits within it count for the account, also after that key was narrowed or revoked
 */
public record ApiKey(
    String id,
    String name,
    String tokenHash,
    long createdAtMs,
    long expiresAtMs,
    boolean superadmin,
    List<Permission> permissions,
    String owner,
    List<Permission> scope) {
  public static final long NEVER = 0;

  public ApiKey {
    permissions = List.copyOf(permissions);
    scope = List.copyOf(scope);
  }

  boolean expired(long nowMs) {
    return expiresAtMs != NEVER && nowMs >= expiresAtMs;
  }

  /**
   * Returns whether a key of {@code account} created this key, which is not the first of the
   * account.
   */
  boolean descendsFrom(String account) {
    return owner.equals(account) && !id.equals(account);
  }

  ApiKey withPermissions(List<Permission> replaced) {
    return with(replaced, scope);
  }

  /**
   * Returns a copy with other permissions, as a superadmin sets them: the account's scope grows
   * with them.
   */
  ApiKey withPermissionsAndScope(List<Permission> replaced) {
    return with(replaced, Stream.concat(scope.stream(), replaced.stream()).distinct().toList());
  }

  private ApiKey with(List<Permission> replaced, List<Permission> newScope) {
    return new ApiKey(
        id, name, tokenHash, createdAtMs, expiresAtMs, superadmin, replaced, owner, newScope);
  }
}
