/** What server and client both need and nobody else should use. */
@NullMarked
package dev.sluice.proto.internal;

import org.jspecify.annotations.NullMarked;
