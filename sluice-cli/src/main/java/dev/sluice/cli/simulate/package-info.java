/**
 * {@code sluice simulate}: the command, and the simulation of one limit on a list of requests.
 *
 * <p>Uses {@code simulate.scenario}, {@code runtime} and {@code text}.
 */
@NullMarked
package dev.sluice.cli.simulate;

import org.jspecify.annotations.NullMarked;
