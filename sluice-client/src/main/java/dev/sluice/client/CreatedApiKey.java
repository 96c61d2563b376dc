package dev.sluice.client;

/**
 * An API key that was made.
 *
 * @param id what it is known by
 * @param key the secret, shown this once
 * @since 0.1
 */
public record CreatedApiKey(String id, String key) {
  /** Does not tell the secret. */
  @Override
  public String toString() {
    return "CreatedApiKey[id=" + id + "]";
  }
}
