/**
 * Hostile clients over bare sockets, and well-behaved ones beside them to tell what the attacks
 * cost the others. Every attack is bounded in connections, bytes and time, and reaches loopback
 * addresses only.
 */
@NullMarked
package dev.sluice.attacks;

import org.jspecify.annotations.NullMarked;
