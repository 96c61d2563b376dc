/**
 * {@code sluice demo}: a server, tenants that load it, and a live view.
 *
 * <p>Uses {@code runtime} and {@code text}.
 */
@NullMarked
package dev.sluice.cli.demo;

import org.jspecify.annotations.NullMarked;
