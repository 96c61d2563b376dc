/**
 * What commands run on: the terminal, exit codes, the connection to a server.
 *
 * <p>Uses {@code text} alone.
 */
@NullMarked
package dev.sluice.cli.runtime;

import org.jspecify.annotations.NullMarked;
