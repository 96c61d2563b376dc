package dev.sluice.client;

import java.time.Instant;

/**
 * What the server is.
 *
 * @param version its version
 * @param startedAt since when it runs, by its clock
 * @since 0.1
 */
public record ServerInfo(String version, Instant startedAt) {}
