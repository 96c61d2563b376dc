package dev.sluice.client;

import dev.sluice.proto.v1.ListApiKeysResponse;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * An API key of the server, without its secret.
 *
 * @param id identifies the key
 * @param name the key's name, for people and logs
 * @param createdAt when the key was created, by the server's clock
 * @param expiresAt when the key expires; empty: never
 * @param superadmin whether the key permits everything
 * @param permissions the permissions of the key
 * @since 0.1
 */
public record ApiKey(
    String id,
    String name,
    Instant createdAt,
    Optional<Instant> expiresAt,
    boolean superadmin,
    List<Permission> permissions) {
  /** Makes the list immutable. */
  public ApiKey {
    permissions = List.copyOf(permissions);
  }

  static ApiKey of(ListApiKeysResponse.ApiKey wire) {
    return new ApiKey(
        wire.getId(),
        wire.getName(),
        Instant.ofEpochMilli(wire.getCreatedAtMs()),
        wire.getExpiresAtMs() == 0
            ? Optional.empty()
            : Optional.of(Instant.ofEpochMilli(wire.getExpiresAtMs())),
        wire.getSuperadmin(),
        wire.getPermissionsList().stream().map(Permission::of).toList());
  }
}
