package dev.sluice.client;

import dev.sluice.proto.v1.CreateApiKeyRequest;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * An API key to be made: {@code NewApiKey.of("billing", List.of(new Permission("produce",
 * "mail")))}.
 *
 * @param name for people and logs
 * @param permissions what it allows
 * @param expiresAt when it ends, by the server's clock; empty: never
 * @param superadmin whether it allows everything; only a superadmin may make one
 * @since 0.1
 */
public record NewApiKey(
    String name, List<Permission> permissions, Optional<Instant> expiresAt, boolean superadmin) {
  /** Makes the list immutable. */
  public NewApiKey {
    permissions = List.copyOf(permissions);
  }

  /**
   * A key that never ends.
   *
   * @param name for people and logs
   * @param permissions what it allows
   * @return the key to be made
   */
  public static NewApiKey of(String name, List<Permission> permissions) {
    return new NewApiKey(name, permissions, Optional.empty(), false);
  }

  /**
   * The same, with an end.
   *
   * @param end when, by the server's clock
   * @return the key to be made
   */
  public NewApiKey withExpiry(Instant end) {
    return new NewApiKey(name, permissions, Optional.of(end), superadmin);
  }

  /**
   * The same, allowing everything.
   *
   * @return the key to be made
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
