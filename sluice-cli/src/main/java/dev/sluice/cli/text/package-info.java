/**
 * Numbers, durations, tables and JSON as text.
 *
 * <p>Knows no other package of the command.
 */
@NullMarked
package dev.sluice.cli.text;

import org.jspecify.annotations.NullMarked;
