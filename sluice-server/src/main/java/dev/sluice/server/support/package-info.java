/** Errors, files and logs that every part of the server uses. */
@NullMarked
package dev.sluice.server.support;

import org.jspecify.annotations.NullMarked;
