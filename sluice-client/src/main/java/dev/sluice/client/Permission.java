package dev.sluice.client;

/**
 * A permission of an API key: allows one kind of call for names that match a pattern. The server
 * checks the values.
 *
 * @param kind produce, consume, limit, governor, read or admin, which includes read
 * @param pattern a name, a prefix and {@code .*} or {@code :*}, or {@code *}
 * @since 0.1
 */
public record Permission(String kind, String pattern) {
  dev.sluice.proto.v1.Permission toWire() {
    return dev.sluice.proto.v1.Permission.newBuilder().setKind(kind).setPattern(pattern).build();
  }

  static Permission of(dev.sluice.proto.v1.Permission wire) {
    return new Permission(wire.getKind(), wire.getPattern());
  }
}
