/**
 * The runtime of commands: terminal, exit codes, input files, connection to a server.
 *
 * <p>Uses only {@code text}.
 */
@NullMarked
package dev.sluice.cli.runtime;

import org.jspecify.annotations.NullMarked;
