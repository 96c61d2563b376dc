/**
 * jcstress suites: what threads can see of each other on this machine, its memory model included.
 *
 * <p>Actors and arbiter write tokens granted and tokens left, so that every outcome shows whether
 * any were lost or made.
 */
package dev.sluice.verify;
