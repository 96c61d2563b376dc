package dev.sluice.client;

/**
 * A new API key with its secret.
 *
 * @param id identifies the key
 * @param secret authenticates its callers; the server does not show it again
 * @since 0.1
 */
public record CreatedApiKey(String id, String secret) {
  /** Returns a description without the secret. */
  @Override
  public String toString() {
    return "CreatedApiKey[id=" + id + "]";
  }
}
