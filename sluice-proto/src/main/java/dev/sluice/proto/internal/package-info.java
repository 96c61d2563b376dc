/** Parts that server and client share; not for other use. */
@NullMarked
package dev.sluice.proto.internal;

import org.jspecify.annotations.NullMarked;
