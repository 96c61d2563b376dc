package dev.sluice.governor;

import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A provider's response to a call of a model.
 *
 * @param status of HTTP
 * @param headers by their names, in any case
 * @since 0.1
 */
public record ProviderResponse(int status, Map<String, String> headers) {
  /** Names are looked up in lower case. */
  public ProviderResponse {
    if (status < 100 || status > 599) {
      throw new IllegalArgumentException("status must be from 100 to 599, but was " + status);
    }
    Map<String, String> lower = new TreeMap<>();
    headers.forEach((name, value) -> lower.put(name.toLowerCase(Locale.ROOT), value));
    headers = Collections.unmodifiableMap(lower);
  }

  /**
   * A header.
   *
   * @param name in lower case
   * @return its value
   */
  public Optional<String> header(String name) {
    return Optional.ofNullable(headers.get(name)).map(String::strip);
  }
}
