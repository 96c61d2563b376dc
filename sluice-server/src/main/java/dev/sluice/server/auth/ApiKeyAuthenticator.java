package dev.sluice.server.auth;

import dev.sluice.server.Secret;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Authenticates callers by API key; without a bootstrap key it requires none. */
public final class ApiKeyAuthenticator implements RevocationWatcher.Authenticator {
  private static final String SCHEME = "Bearer ";

  private final ApiKeyStore keys;
  private final InstantSource clock;
  private final @Nullable String bootstrapHash;

  public ApiKeyAuthenticator(ApiKeyStore keys, InstantSource clock, @Nullable Secret bootstrapKey) {
    this.keys = keys;
    this.clock = clock;
    this.bootstrapHash = bootstrapKey == null ? null : ApiKeyTokens.hash(bootstrapKey.value());
  }

  @Override
  public Caller authenticate(@Nullable String authorization) {
    if (bootstrapHash == null) {
      return Caller.ANYBODY;
    }
    // One answer to every invalid key, so that it reveals nothing about earlier keys.
    return tokenOf(authorization)
        .flatMap(token -> callerOf(token, bootstrapHash))
        .orElseThrow(
            () ->
                new ApiException(
                    ErrorKind.UNAUTHENTICATED,
                    "a valid API key is required: authorization: Bearer KEY"));
  }

  /** Returns the token of an {@code authorization} header, if it has one. */
  static Optional<String> tokenOf(@Nullable String authorization) {
    return authorization != null && authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
        ? Optional.of(authorization.substring(SCHEME.length()))
        : Optional.empty();
  }

  private Optional<Caller> callerOf(String token, String bootstrap) {
    if (ApiKeyTokens.same(bootstrap, ApiKeyTokens.hash(token))) {
      return Optional.of(new Caller("bootstrap", true, List.of(), ApiKey.NEVER));
    }
    return keys.find(token, clock.millis())
        .map(
            key ->
                new Caller(
                    key.name(),
                    key.superadmin(),
                    key.permissions(),
                    key.expiresAtMs(),
                    key.owner()));
  }
}
