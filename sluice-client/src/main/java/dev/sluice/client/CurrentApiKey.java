package dev.sluice.client;

import dev.sluice.proto.v1.WhoAmIResponse;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The API key that a client calls with.
 *
 * @param name for people and logs; {@code bootstrap} for the bootstrap key, {@code anybody} where
 *     the server asks for none
 * @param expiresAt when it ends; empty: never
 * @param superadmin whether it allows everything
 * @param permissions what it allows otherwise
 * @since 0.1
 */
public record CurrentApiKey(
    String name, Optional<Instant> expiresAt, boolean superadmin, List<Permission> permissions) {
  /** Makes the list immutable. */
  public CurrentApiKey {
    permissions = List.copyOf(permissions);
  }

  static CurrentApiKey of(WhoAmIResponse wire) {
    return new CurrentApiKey(
        wire.getName(),
        wire.getExpiresAtMs() == 0
            ? Optional.empty()
            : Optional.of(Instant.ofEpochMilli(wire.getExpiresAtMs())),
        wire.getSuperadmin(),
        wire.getPermissionsList().stream().map(Permission::of).toList());
  }
}
