/** The services of Fila, over the same operations as those of Sluice. */
@NullMarked
package dev.sluice.server.fila;

import org.jspecify.annotations.NullMarked;
