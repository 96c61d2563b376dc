/** Connections, retries and conversion of messages; for the client alone. */
@NullMarked
package dev.sluice.client.internal;

import org.jspecify.annotations.NullMarked;
