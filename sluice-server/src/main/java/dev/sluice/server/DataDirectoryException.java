package dev.sluice.server;

import java.io.IOException;

/**
 * A file of the data directory is damaged or cannot be used. The configuration may be right, and
 * the same start may succeed once the file is repaired.
 *
 * @since 0.1
 */
public final class DataDirectoryException extends IOException {
  private static final long serialVersionUID = 1L;

  DataDirectoryException(Exception cause) {
    super(cause.getMessage(), cause);
  }
}
