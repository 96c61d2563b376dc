package dev.sluice.server.support;

import java.io.IOException;

/** A file that the server can read again while it runs; see {@link FileReloader}. */
public interface Reloadable {
  /** Returns the setting that names the file, such as {@code governor.file}; for the log. */
  String name();

  /**
   * Reads the file again and uses it from now on.
   *
   * @return what has changed, for the log, such as {@code models added: a, b}; empty if nothing has
   * @throws IOException if the file cannot be read; then everything stays as it was
   * @throws RuntimeException if its content cannot be used; then everything stays as it was
   */
  String reload() throws IOException;
}
