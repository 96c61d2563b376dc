/** The attacks, each a small class, and the bounds that all of them keep. */
@NullMarked
package dev.sluice.attacks.catalog;

import org.jspecify.annotations.NullMarked;
