/**
 * The commands, each with its options and output.
 *
 * <p>Uses {@code runtime} and {@code text}.
 */
@NullMarked
package dev.sluice.cli.commands;

import org.jspecify.annotations.NullMarked;
