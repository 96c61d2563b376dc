/** Runs the code of docs/recipes, and checks the documentation against the code. */
package dev.sluice.examples;
