/**
 * The gRPC server: connections, authentication, memory of calls, and health checks.
 *
 * <p>Knows neither {@code http} nor {@code operations}; {@code grpc.services} has the services.
 */
@NullMarked
package dev.sluice.server.grpc;

import org.jspecify.annotations.NullMarked;
