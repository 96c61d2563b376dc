/**
 * Scenarios of {@code sluice simulate}: traffic, queues and models in virtual time, and reports.
 *
 * <p>Uses {@code runtime} and {@code text}.
 */
@NullMarked
package dev.sluice.cli.simulate.scenario;

import org.jspecify.annotations.NullMarked;
