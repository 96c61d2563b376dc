/**
 * The budget store of one process, with its journal.
 *
 * <p>Uses the API, {@code spi} and {@code engine}.
 */
@NullMarked
package dev.sluice.governor.internal.local;

import org.jspecify.annotations.NullMarked;
