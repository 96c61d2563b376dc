package dev.sluice.server.operations;

import dev.sluice.broker.LeaseToken;
import dev.sluice.server.support.ApiException;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Formats and parses message ids and lease tokens, which are the same text in all protocols. */
public final class IdFormat {
  private static final char LEASE_SEPARATOR = '.';

  private IdFormat() {}

  /** Returns the ids as text, in their order. */
  public static List<String> texts(List<UUID> ids) {
    return ids.stream().map(UUID::toString).toList();
  }

  public static String lease(LeaseToken token) {
    return token.epoch() + String.valueOf(LEASE_SEPARATOR) + token.number();
  }

  /** Parses a lease token; returns null if {@code lease} is empty. */
  public static @Nullable LeaseToken lease(String lease) {
    if (lease.isEmpty()) {
      return null;
    }
    int separator = lease.indexOf(LEASE_SEPARATOR);
    try {
      return new LeaseToken(
          Integer.parseInt(lease.substring(0, Math.max(0, separator))),
          Long.parseLong(lease.substring(separator + 1)));
    } catch (NumberFormatException malformed) {
      throw ApiException.invalid("lease_token must be that of the delivery, but was " + lease);
    }
  }

  /** Parses the id of a message in the field {@code id}. */
  public static UUID id(String id) {
    return id("id", id);
  }

  /** Parses the id of a message; {@code field} names it in errors. */
  public static UUID id(String field, String id) {
    if (id.length() == 36) {
      try {
        return UUID.fromString(id);
      } catch (IllegalArgumentException malformed) {
        // said below
      }
    }
    throw ApiException.invalid(
        "%s must be that of a message, a UUID, but was %s".formatted(field, id));
  }
}
