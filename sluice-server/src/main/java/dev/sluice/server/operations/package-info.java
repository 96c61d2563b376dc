/**
 * Operations of callers, independent of the protocol: they check permissions and call the
 * libraries.
 */
@NullMarked
package dev.sluice.server.operations;

import org.jspecify.annotations.NullMarked;
