/**
 * The budget store of one process, with its journal.
 *
 * <p>Uses {@code engine} and {@code spi}.
 */
@NullMarked
package dev.sluice.governor.local;

import org.jspecify.annotations.NullMarked;
