/**
 * The gRPC server: connections, authentication, memory of calls, and health checks.
 *
 * <p>{@code grpc.services} has the services.
 */
@NullMarked
package dev.sluice.server.grpc;

import org.jspecify.annotations.NullMarked;
