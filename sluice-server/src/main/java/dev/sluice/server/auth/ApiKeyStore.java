package dev.sluice.server.auth;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.support.JsonListFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * All API keys, in memory and in a {@link JsonListFile}: a change is on disk before it counts.
 *
 * <p>Thread-safe. Changes check the key of their caller under the lock: calls that wait there while
 * it is revoked would otherwise leave new keys behind. Keys are apart from the broker's
 * configuration, so neither its readers nor scripts ever see them.
 */
public final class ApiKeyStore {
  public static final String FILE = "keys.json";

  private static final String OWNER = "owner";
  private static final String SCOPE = "scope";

  /** Every change writes all keys. */
  public static final int MAX_KEYS = 10_000;

  private final JsonListFile<ApiKey> file;

  /** Replaced as a whole, under the lock; read without. */
  private volatile Index index;

  private volatile Runnable changed = () -> {};

  /**
   * Keys by what they are looked up by.
   *
   * @param byId in the order in which they were made
   * @param byTokenHash for every request
   */
  private record Index(Map<String, ApiKey> byId, Map<String, ApiKey> byTokenHash) {
    static Index of(List<ApiKey> keys) {
      Map<String, ApiKey> byId = new LinkedHashMap<>();
      keys.forEach(key -> byId.put(key.id(), key));
      return new Index(
          Collections.unmodifiableMap(byId),
          keys.stream().collect(Collectors.toMap(ApiKey::tokenHash, key -> key)));
    }
  }

  private ApiKeyStore(JsonListFile<ApiKey> file, List<ApiKey> keys) {
    this.file = file;
    this.index = Index.of(keys);
  }

  /**
   * Reads the stored keys.
   *
   * @throws IOException if the file cannot be read or is damaged
   */
  public static ApiKeyStore open(Path directory) throws IOException {
    JsonListFile<ApiKey> file =
        new JsonListFile<>(directory, "keys", ApiKey.class, ApiKeyStore::migrate);
    return new ApiKeyStore(file, file.read());
  }

  /**
   * Completes a key that an older version stored: without an owner it gets an account of its own,
   * without a scope its permissions.
   */
  private static void migrate(ObjectNode key) {
    if (!key.has(OWNER) && key.has("id")) {
      key.set(OWNER, key.get("id"));
    }
    if (!key.has(SCOPE) && key.has("permissions")) {
      key.set(SCOPE, key.get("permissions"));
    }
  }

  /** The key of that token, unless it is expired. */
  public Optional<ApiKey> find(String token, long nowMs) {
    String hash = ApiKeyTokens.hash(token);
    return Optional.ofNullable(index.byTokenHash().get(hash))
        .filter(key -> ApiKeyTokens.same(key.tokenHash(), hash))
        .filter(key -> !key.expired(nowMs));
  }

  /** Returns all keys, the oldest first. */
  public List<ApiKey> list() {
    return List.copyOf(index.byId().values());
  }

  public ApiKey get(String id) {
    return byId(id).orElseThrow(() -> ApiException.notFound("unknown API key: " + id));
  }

  private Optional<ApiKey> byId(String id) {
    return Optional.ofNullable(index.byId().get(id));
  }

  /** Returns the {@linkplain ApiKey#scope scope} of an account, by its oldest key. */
  public List<Permission> scopeOf(String account) {
    return index.byId().values().stream()
        .filter(key -> key.owner().equals(account))
        .findFirst()
        .map(ApiKey::scope)
        .orElse(List.of());
  }

  /**
   * Adds a key within the quotas: some of all keys are left to superadmins, and each account has a
   * limit.
   */
  synchronized void add(Credential by, ApiKey key) {
    by.requireSame();
    Caller caller = by.caller();
    int most = caller.superadmin() ? MAX_KEYS : MAX_KEYS - AccountQuotas.RESERVED_KEYS;
    if (index.byId().size() >= most) {
      throw new ApiException(
          ErrorKind.RESOURCE_EXHAUSTED,
          "there must be at most %d API keys%s; revoke some"
              .formatted(most, caller.superadmin() ? "" : " before a superadmin makes more"));
    }
    List<ApiKey> keys = new ArrayList<>(list());
    if (!caller.superadmin()) {
      long own = keys.stream().filter(each -> each.descendsFrom(caller.account())).count();
      AccountQuotas.require("keys", own, AccountQuotas.MAX_KEYS);
    }
    keys.add(key);
    save(keys);
  }

  /**
   * Runs {@code then} after each key that is replaced or removed, before the caller is answered.
   */
  public void onChange(Runnable then) {
    changed = then;
  }

  /** Replaces a key; if {@code change} throws, the key is unchanged. */
  void replace(Credential by, String id, UnaryOperator<ApiKey> change) {
    synchronized (this) {
      by.requireSame();
      ApiKey replaced = change.apply(get(id));
      save(list().stream().map(key -> key.id().equals(id) ? replaced : key).toList());
    }
    changed.run();
  }

  /** Removes a key; if {@code check} throws, the key remains. */
  void remove(Credential by, String id, Consumer<ApiKey> check) {
    synchronized (this) {
      by.requireSame();
      check.accept(get(id));
      save(list().stream().filter(key -> !key.id().equals(id)).toList());
    }
    changed.run();
  }

  private void save(List<ApiKey> keys) {
    try {
      file.write(keys);
    } catch (IOException failure) {
      throw file.notStored(failure);
    }
    index = Index.of(keys);
  }
}
