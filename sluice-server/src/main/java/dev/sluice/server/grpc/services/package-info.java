/** The gRPC services, and conversion between messages of the protocol and of the libraries. */
@NullMarked
package dev.sluice.server.grpc.services;

import org.jspecify.annotations.NullMarked;
