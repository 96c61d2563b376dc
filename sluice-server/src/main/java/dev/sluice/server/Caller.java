package dev.sluice.server;

import dev.sluice.server.Permission.Kind;
import java.util.List;

/**
 * The caller of a request, and its permissions.
 *
 * @param name for logs
 * @param superadmin whether everything is allowed
 * @param permissions what is allowed otherwise
 * @param expiresAtMs when their key ends; {@link Key#NEVER} for never
 * @param account the {@link Key#owner} of their key, by which {@link Quotas} count
 */
record Caller(
    String name,
    boolean superadmin,
    List<Permission> permissions,
    long expiresAtMs,
    String account) {
  /** Everybody, while the server asks for no keys. */
  static final Caller ANYBODY = new Caller("anybody", true, List.of(), Key.NEVER);

  /** Creates a caller whose account has its own name. */
  Caller(String name, boolean superadmin, List<Permission> permissions, long expiresAtMs) {
    this(name, superadmin, permissions, expiresAtMs, name);
  }

  Caller {
    permissions = List.copyOf(permissions);
  }

  /** Whether what ends then, or never, would still be there when their key is not. */
  boolean isOutlivedBy(long endsAtMs) {
    return expiresAtMs != Key.NEVER && (endsAtMs == Key.NEVER || endsAtMs > expiresAtMs);
  }

  boolean may(Kind kind, String name) {
    return superadmin || permissions.stream().anyMatch(each -> each.allows(kind, name));
  }

  /** Whether everything that these patterns name is allowed. */
  boolean mayAll(Kind kind, List<String> patterns) {
    return superadmin
        || patterns.stream()
            .map(pattern -> new Permission(kind, pattern))
            .allMatch(all -> permissions.stream().anyMatch(each -> each.covers(all)));
  }

  void require(Kind kind, String name) {
    if (!may(kind, name)) {
      throw denied(kind.word() + " on " + name);
    }
  }

  /** Whether there is a name for which {@code kind} is allowed. */
  boolean maySome(Kind kind) {
    return superadmin || permissions.stream().anyMatch(each -> each.kind().includes(kind));
  }

  void requireSome(Kind kind) {
    if (!maySome(kind)) {
      throw denied(kind.word() + " on any name");
    }
  }

  /** Whether {@code kind} is allowed for every name. */
  boolean mayAll(Kind kind) {
    Permission all = new Permission(kind, Permission.ALL);
    return superadmin || permissions.stream().anyMatch(each -> each.covers(all));
  }

  /** Checks a call that concerns no single name. */
  void requireAll(Kind kind) {
    if (!mayAll(kind)) {
      throw denied(kind.word() + " on *");
    }
  }

  void requireAdminOfAll() {
    requireAll(Kind.ADMIN);
  }

  boolean isExpired(long nowMs) {
    return expiresAtMs != Key.NEVER && nowMs >= expiresAtMs;
  }

  static ApiException denied(String needed) {
    return new ApiException(ErrorKind.PERMISSION_DENIED, "the key does not allow it: " + needed);
  }
}
