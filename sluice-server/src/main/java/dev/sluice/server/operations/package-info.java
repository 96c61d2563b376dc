/**
 * What the server does for a caller, whatever the protocol: checks permissions and calls the
 * libraries.
 */
@NullMarked
package dev.sluice.server.operations;

import org.jspecify.annotations.NullMarked;
