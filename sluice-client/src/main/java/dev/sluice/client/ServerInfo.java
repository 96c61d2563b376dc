package dev.sluice.client;

import java.time.Instant;

/**
 * Information about a server.
 *
 * @param version the server's version
 * @param startedAt when the server was started, by its clock
 * @since 0.1
 */
public record ServerInfo(String version, Instant startedAt) {}
