/**
 * Operations of callers, independent of the protocol: they check permissions and call the
 * libraries. Formats that both protocols share are here, too.
 *
 * <p>Uses the configuration, {@code support}, {@code auth} and {@code transport}.
 */
@NullMarked
package dev.sluice.server.operations;

import org.jspecify.annotations.NullMarked;
