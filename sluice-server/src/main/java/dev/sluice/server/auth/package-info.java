/** API keys, permissions and quotas of accounts. */
@NullMarked
package dev.sluice.server.auth;

import org.jspecify.annotations.NullMarked;
