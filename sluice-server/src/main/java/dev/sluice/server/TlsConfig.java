package dev.sluice.server;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The certificate that gRPC and HTTP show.
 *
 * @param certificate a file of PEM certificates, the server's first
 * @param key a file with its private key, unencrypted PEM: PKCS #8, PKCS #1 or SEC1
 * @param clientCa a file of PEM certificates; callers must show one signed by these; null if they
 *     need none
 * @since 0.1
 */
public record TlsConfig(Path certificate, Path key, @Nullable Path clientCa) {}
