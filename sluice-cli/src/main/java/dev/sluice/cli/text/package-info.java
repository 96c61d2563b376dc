/**
 * Numbers, durations, tables and JSON as text.
 *
 * <p>Uses no other package of the command line.
 */
@NullMarked
package dev.sluice.cli.text;

import org.jspecify.annotations.NullMarked;
