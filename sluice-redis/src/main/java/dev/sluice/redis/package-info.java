/** Limits that a fleet shares through Redis or Valkey. */
@NullMarked
package dev.sluice.redis;

import org.jspecify.annotations.NullMarked;
