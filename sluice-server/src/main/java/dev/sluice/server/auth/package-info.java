/**
 * API keys, permissions and quotas of accounts.
 *
 * <p>Uses the configuration and {@code support}.
 */
@NullMarked
package dev.sluice.server.auth;

import org.jspecify.annotations.NullMarked;
