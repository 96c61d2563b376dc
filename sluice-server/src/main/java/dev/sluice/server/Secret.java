package dev.sluice.server;

/**
 * A word that must not get into logs: it is not part of {@link #toString}.
 *
 * @param value 1 to 256 visible ASCII characters, so that a header can carry it
 * @since 0.1
 */
public record Secret(String value) {
  private static final int MAX_LENGTH = 256;

  /** Checks the value; errors never contain it. */
  public Secret {
    if (value.isEmpty()
        || value.length() > MAX_LENGTH
        || !value.chars().allMatch(each -> each > ' ' && each < 0x7f)) {
      throw new IllegalArgumentException(
          "a key must have 1 to %d visible ASCII characters without spaces, but had %d characters"
              .formatted(MAX_LENGTH, value.length()));
    }
  }

  @Override
  public String toString() {
    return "***";
  }
}
