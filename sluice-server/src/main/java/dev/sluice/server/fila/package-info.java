/**
 * The services of Fila, over the same operations as those of Sluice.
 *
 * <p>Uses {@code grpc}, {@code grpc.services} and what they use.
 */
@NullMarked
package dev.sluice.server.fila;

import org.jspecify.annotations.NullMarked;
