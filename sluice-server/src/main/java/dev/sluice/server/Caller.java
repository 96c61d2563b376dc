package dev.sluice.server;

import dev.sluice.server.Permission.Kind;
import java.util.List;

/**
 * Whoever makes a request, and what they may do.
 *
 * @param name for logs
 * @param superadmin whether everything is allowed
 * @param permissions what is allowed otherwise
 * @param expiresAtMs when their key ends; {@link Key#NEVER} for never
 */
record Caller(String name, boolean superadmin, List<Permission> permissions, long expiresAtMs) {
  /** Everybody, while the server asks for no keys. */
  static final Caller ANYBODY = new Caller("anybody", true, List.of(), Key.NEVER);

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

  /** Whatever the name. */
  void requireSome(Kind kind) {
    if (!superadmin && permissions.stream().noneMatch(each -> each.kind() == kind)) {
      throw denied(kind.word());
    }
  }

  boolean isAdminOfAll() {
    return superadmin
        || permissions.stream()
            .anyMatch(each -> each.kind() == Kind.ADMIN && each.pattern().equals(Permission.ALL));
  }

  /** What concerns no single name. */
  void requireAdminOfAll() {
    if (!isAdminOfAll()) {
      throw denied("admin on *");
    }
  }

  static ApiException denied(String needed) {
    return new ApiException(ErrorKind.PERMISSION_DENIED, "the key does not allow it: " + needed);
  }
}
