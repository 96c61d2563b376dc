/** Ways to use the governor, described in docs/governor.md. */
package dev.sluice.governor.examples;
