package dev.sluice.server.auth;

import dev.sluice.broker.NamePatterns;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.util.List;

/**
 * The caller of a request, and its permissions.
 *
 * @param name for logs
 * @param superadmin whether everything is allowed
 * @param permissions what is allowed otherwise
 * @param expiresAtMs when their key ends; {@link ApiKey#NEVER} for never
 * @param account the {@link ApiKey#owner} of their key, by which {@link AccountQuotas} count
 */
public record Caller(
    String name,
    boolean superadmin,
    List<Permission> permissions,
    long expiresAtMs,
    String account) {
  /** The caller of a server without API keys, which may do everything. */
  public static final Caller ANYBODY = new Caller("anybody", true, List.of(), ApiKey.NEVER);

  /** Creates a caller whose account has its own name. */
  public Caller(String name, boolean superadmin, List<Permission> permissions, long expiresAtMs) {
    this(name, superadmin, permissions, expiresAtMs, name);
  }

  public Caller {
    permissions = List.copyOf(permissions);
  }

  /** Returns whether {@code endsAtMs} (or never) is later than the expiry of the caller's key. */
  boolean isOutlivedBy(long endsAtMs) {
    return expiresAtMs != ApiKey.NEVER && (endsAtMs == ApiKey.NEVER || endsAtMs > expiresAtMs);
  }

  public boolean may(Kind kind, String name) {
    return superadmin || permissions.stream().anyMatch(each -> each.allows(kind, name));
  }

  /** Returns whether {@code kind} is allowed for all names that the patterns match. */
  public boolean mayAll(Kind kind, List<String> patterns) {
    return superadmin
        || patterns.stream()
            .map(pattern -> new Permission(kind, pattern))
            .allMatch(all -> permissions.stream().anyMatch(each -> each.covers(all)));
  }

  public void require(Kind kind, String name) {
    if (!may(kind, name)) {
      throw denied(kind.word() + " on " + name);
    }
  }

  /** Returns whether {@code kind} is allowed for at least one name. */
  public boolean maySome(Kind kind) {
    return superadmin || permissions.stream().anyMatch(each -> each.kind().includes(kind));
  }

  /** The patterns of all names for which {@code kind} is allowed. */
  public List<String> patterns(Kind kind) {
    return mayAll(kind)
        ? List.of(NamePatterns.ALL)
        : permissions.stream()
            .filter(each -> each.kind().includes(kind))
            .map(Permission::pattern)
            .distinct()
            .toList();
  }

  public void requireSome(Kind kind) {
    if (!maySome(kind)) {
      throw denied(kind.word() + " on any name");
    }
  }

  /** Returns whether {@code kind} is allowed for every name. */
  public boolean mayAll(Kind kind) {
    Permission all = new Permission(kind, NamePatterns.ALL);
    return superadmin || permissions.stream().anyMatch(each -> each.covers(all));
  }

  /** Checks a call that concerns no single name. */
  public void requireAll(Kind kind) {
    if (!mayAll(kind)) {
      throw denied(kind.word() + " on *");
    }
  }

  public void requireAdminOfAll() {
    requireAll(Kind.ADMIN);
  }

  boolean isExpired(long nowMs) {
    return expiresAtMs != ApiKey.NEVER && nowMs >= expiresAtMs;
  }

  public static ApiException denied(String needed) {
    return new ApiException(
        ErrorKind.PERMISSION_DENIED, "the API key does not allow this; it needs " + needed);
  }
}
