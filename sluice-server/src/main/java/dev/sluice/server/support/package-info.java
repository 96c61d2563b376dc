/**
 * Errors, files and logs that every part of the server uses.
 *
 * <p>Uses the configuration alone.
 */
@NullMarked
package dev.sluice.server.support;

import org.jspecify.annotations.NullMarked;
