/**
 * The server: queues and limits over gRPC and HTTP, with keys, TLS and metrics.
 *
 * <p>Start at {@link dev.sluice.server.SluiceServer}. Besides the entry points, which put all
 * packages together, this package has the configuration, which uses no other package of the server.
 * The others are, from the bottom, {@code support}, {@code auth}, {@code transport}, {@code
 * operations}, {@code telemetry}, {@code grpc} and {@code http}, their services and routes, and
 * {@code fila}; each uses only packages below it.
 */
@NullMarked
package dev.sluice.server;

import org.jspecify.annotations.NullMarked;
