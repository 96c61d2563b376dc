/**
 * Hostile clients over bare sockets, and well-behaved clients that measure what the attacks cost
 * them. Every attack is bounded in connections, bytes and time, and reaches loopback addresses
 * only.
 */
@NullMarked
package dev.sluice.attacks;

import org.jspecify.annotations.NullMarked;
