package dev.sluice.client;

import dev.sluice.proto.v1.WhoAmIResponse;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The API key that a client uses.
 *
 * @param name the key's name; {@code bootstrap} for the bootstrap key, {@code anybody} if the
 *     server requires none
 * @param expiresAt when the key expires; empty: never
 * @param superadmin whether the key permits everything
 * @param permissions the permissions of the key
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
