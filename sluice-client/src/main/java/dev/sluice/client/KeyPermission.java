package dev.sluice.client;

import dev.sluice.proto.v1.Permission;

/**
 * What an API key allows. The server checks the values.
 *
 * @param kind produce, consume, limit, governor, read or admin, which includes read
 * @param pattern a name, a prefix and {@code .*} or {@code :*}, or {@code *}
 * @since 0.1
 */
public record KeyPermission(String kind, String pattern) {
  Permission toWire() {
    return Permission.newBuilder().setKind(kind).setPattern(pattern).build();
  }

  static KeyPermission of(Permission wire) {
    return new KeyPermission(wire.getKind(), wire.getPattern());
  }
}
