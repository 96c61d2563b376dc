package dev.sluice.client;

import dev.sluice.proto.v1.ListApiKeysResponse;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * An API key as the server knows it, without its secret.
 *
 * @param id what it is known by
 * @param name for people and logs
 * @param createdAt when it was made, by the server's clock
 * @param expiresAt when it ends; empty: never
 * @param superadmin whether it allows everything
 * @param permissions what it allows otherwise
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
