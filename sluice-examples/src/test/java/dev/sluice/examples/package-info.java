/** What docs/recipes shows, run; and checks that the documentation says what there is. */
package dev.sluice.examples;
