/** Connections, retries and mapping of messages. Internal to the client. */
@NullMarked
package dev.sluice.client.internal;

import org.jspecify.annotations.NullMarked;
