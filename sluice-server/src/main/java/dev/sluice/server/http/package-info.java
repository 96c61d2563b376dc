/**
 * The HTTP server: listeners, requests, answers and the memory of both.
 *
 * <p>Knows neither {@code grpc} nor {@code operations}; {@code http.routes} has the routes.
 */
@NullMarked
package dev.sluice.server.http;

import org.jspecify.annotations.NullMarked;
