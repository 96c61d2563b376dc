/**
 * The gRPC services, and conversion between messages of the protocol and of the libraries.
 *
 * <p>Uses {@code grpc}, {@code operations} and what they use; does not know {@code http}.
 */
@NullMarked
package dev.sluice.server.grpc.services;

import org.jspecify.annotations.NullMarked;
