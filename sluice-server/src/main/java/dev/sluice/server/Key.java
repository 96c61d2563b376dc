package dev.sluice.server;

import java.util.List;

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
 */
record Key(
    String id,
    String name,
    String tokenHash,
    long createdAtMs,
    long expiresAtMs,
    boolean superadmin,
    List<Permission> permissions,
    String owner) {
  static final long NEVER = 0;

  Key {
    permissions = List.copyOf(permissions);
  }

  boolean expired(long nowMs) {
    return expiresAtMs != NEVER && nowMs >= expiresAtMs;
  }

  /** Whether it was made by a key of that account, and is not its first. */
  boolean descendsFrom(String account) {
    return owner.equals(account) && !id.equals(account);
  }

  Key withPermissions(List<Permission> replaced) {
    return new Key(id, name, tokenHash, createdAtMs, expiresAtMs, superadmin, replaced, owner);
  }
}
