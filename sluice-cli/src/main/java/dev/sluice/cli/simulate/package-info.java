/** {@code sluice simulate}: limits on requests from a file. */
@NullMarked
package dev.sluice.cli.simulate;

import org.jspecify.annotations.NullMarked;
