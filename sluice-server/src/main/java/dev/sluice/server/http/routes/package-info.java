/**
 * The routes of the HTTP interface and the console, and their JSON.
 *
 * <p>Uses {@code http}, {@code operations} and what they use; does not know {@code grpc}.
 */
@NullMarked
package dev.sluice.server.http.routes;

import org.jspecify.annotations.NullMarked;
