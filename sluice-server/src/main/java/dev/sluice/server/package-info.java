/** The server: queues and limits over gRPC and HTTP, with keys, TLS and metrics. */
@NullMarked
package dev.sluice.server;

import org.jspecify.annotations.NullMarked;
