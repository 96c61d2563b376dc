package dev.sluice.client;

import dev.sluice.proto.v1.CreateApiKeyRequest;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A request to create an API key: {@code NewApiKey.of("billing", List.of(new Permission("produce",
 * "mail")))}.
 *
 * @param name the key's name, for people and logs
 * @param permissions the permissions of the key
 * @param expiresAt when the key expires, by the server's clock; empty: never
 * @param superadmin whether the key permits everything; only a superadmin may create such a key
 * @since 0.1
 */
public record NewApiKey(
    String name, List<Permission> permissions, Optional<Instant> expiresAt, boolean superadmin) {
  /** Makes the list immutable. */
  public NewApiKey {
    permissions = List.copyOf(permissions);
  }

  /**
   * Returns a request for a key that does not expire.
   *
   * @param name the key's name, for people and logs
   * @param permissions the permissions of the key
   * @return the request
   */
  public static NewApiKey of(String name, List<Permission> permissions) {
    return new NewApiKey(name, permissions, Optional.empty(), false);
  }

  /**
   * Returns this request with an expiry.
   *
   * @param end when the key expires, by the server's clock
   * @return the changed request
   */
  public NewApiKey withExpiry(Instant end) {
    return new NewApiKey(name, permissions, Optional.of(end), superadmin);
  }

  /**
   * Returns this request for a key that permits everything.
   *
   * @return the changed request
   */
  public NewApiKey asSuperadmin() {
    return new NewApiKey(name, permissions, expiresAt, true);
  }

  CreateApiKeyRequest toWire() {
    return CreateApiKeyRequest.newBuilder()
        .setName(name)
        .addAllPermissions(permissions.stream().map(Permission::toWire).toList())
        .setExpiresAtMs(expiresAt.map(Instant::toEpochMilli).orElse(0L))
        .setSuperadmin(superadmin)
        .build();
  }
}
