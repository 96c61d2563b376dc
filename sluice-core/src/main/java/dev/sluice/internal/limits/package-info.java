/**
 * Limits by key: the table of buckets, templates, and requests that take tokens of several keys at
 * once.
 *
 * <p>Not exported; uses {@code internal.bucket}.
 */
@NullMarked
package dev.sluice.internal.limits;

import org.jspecify.annotations.NullMarked;
