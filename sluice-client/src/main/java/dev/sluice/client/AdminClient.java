package dev.sluice.client;

import dev.sluice.Limit;
import dev.sluice.client.internal.GrpcConnection;
import dev.sluice.client.internal.LimitProtoMapper;
import dev.sluice.proto.v1.AdminGrpc;
import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.GetConfigRequest;
import dev.sluice.proto.v1.GetServerInfoRequest;
import dev.sluice.proto.v1.GetServerInfoResponse;
import dev.sluice.proto.v1.ListApiKeysRequest;
import dev.sluice.proto.v1.ListConfigRequest;
import dev.sluice.proto.v1.ListConfigResponse;
import dev.sluice.proto.v1.ListThrottlesRequest;
import dev.sluice.proto.v1.RemoveConfigRequest;
import dev.sluice.proto.v1.RemoveThrottleRequest;
import dev.sluice.proto.v1.RevokeApiKeyRequest;
import dev.sluice.proto.v1.SetConfigRequest;
import dev.sluice.proto.v1.SetPermissionsRequest;
import dev.sluice.proto.v1.SetThrottleRequest;
import dev.sluice.proto.v1.WhoAmIRequest;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Manages config entries, throttles and API keys of a server; from {@link SluiceClient#admin}.
 * Thread-safe. Every method blocks until the server answers and throws {@link
 * SluiceClientException}.
 *
 * @since 0.1
 */
public final class AdminClient {
  private final GrpcConnection connection;

  AdminClient(GrpcConnection connection) {
    this.connection = connection;
  }

  /**
   * Sets a config entry, which hooks read.
   *
   * @param key the key
   * @param value the value
   */
  public void setConfig(String key, String value) {
    connection.await(
        AdminGrpc.getSetConfigMethod(),
        SetConfigRequest.newBuilder().setKey(key).setValue(value).build());
  }

  /**
   * Returns the value of a config entry.
   *
   * @param key the key
   * @return its value; fails with {@code NOT_FOUND} if it does not exist
   */
  public String config(String key) {
    return connection
        .await(AdminGrpc.getGetConfigMethod(), GetConfigRequest.newBuilder().setKey(key).build())
        .getValue();
  }

  /**
   * Removes a config entry.
   *
   * @param key the key
   */
  public void removeConfig(String key) {
    connection.await(
        AdminGrpc.getRemoveConfigMethod(), RemoveConfigRequest.newBuilder().setKey(key).build());
  }

  /**
   * Returns config entries.
   *
   * @param prefix the prefix of their keys; empty for all
   * @return values by key, immutable
   */
  public SortedMap<String, String> listConfig(String prefix) {
    SortedMap<String, String> values = new TreeMap<>();
    for (ListConfigResponse.Entry entry :
        connection
            .await(
                AdminGrpc.getListConfigMethod(),
                ListConfigRequest.newBuilder().setPrefix(prefix).build())
            .getEntriesList()) {
      values.put(entry.getKey(), entry.getValue());
    }
    return Collections.unmodifiableSortedMap(values);
  }

  /**
   * Sets the rate at which queues deliver messages with a throttle key.
   *
   * @param name the throttle key
   * @param limit a limit that refills evenly or denies everything
   * @throws IllegalArgumentException if the limit refills in whole periods or by hand
   */
  public void setThrottle(String name, Limit limit) {
    Limit.Rate rate = LimitProtoMapper.rate(limit);
    connection.await(
        AdminGrpc.getSetThrottleMethod(),
        SetThrottleRequest.newBuilder()
            .setKey(name)
            .setRatePerSecond(rate.perSecond())
            .setBurst(rate.burst())
            .build());
  }

  /**
   * Removes the limit of a throttle key.
   *
   * @param name the throttle key
   */
  public void removeThrottle(String name) {
    connection.await(
        AdminGrpc.getRemoveThrottleMethod(),
        RemoveThrottleRequest.newBuilder().setKey(name).build());
  }

  /**
   * Returns the rates of all throttle keys.
   *
   * @return in the order of the server
   */
  public List<ThrottleRate> throttles() {
    return connection
        .await(AdminGrpc.getListThrottlesMethod(), ListThrottlesRequest.getDefaultInstance())
        .getThrottlesList()
        .stream()
        .map(
            each ->
                new ThrottleRate(
                    each.getKey(), each.getRatePerSecond(), each.getBurst(), each.getTokens()))
        .toList();
  }

  /**
   * Creates an API key. A caller cannot grant permissions that it does not have.
   *
   * @param key the name, permissions and expiry of the new key
   * @return the id and the secret, which the server does not return again
   */
  public CreatedApiKey createApiKey(NewApiKey key) {
    CreateApiKeyResponse created =
        connection.await(AdminGrpc.getCreateApiKeyMethod(), key.toWire());
    return new CreatedApiKey(created.getId(), created.getSecret());
  }

  /**
   * Revokes an API key.
   *
   * @param id the key's id
   */
  public void revokeApiKey(String id) {
    connection.await(
        AdminGrpc.getRevokeApiKeyMethod(), RevokeApiKeyRequest.newBuilder().setId(id).build());
  }

  /**
   * Returns the API keys that the caller may change.
   *
   * @return the keys, without their secrets
   */
  public List<ApiKey> apiKeys() {
    return connection
        .await(AdminGrpc.getListApiKeysMethod(), ListApiKeysRequest.getDefaultInstance())
        .getApiKeysList()
        .stream()
        .map(ApiKey::of)
        .toList();
  }

  /**
   * Returns one API key.
   *
   * @param id the key's id
   * @return the key, without its secret; fails with {@code NOT_FOUND} if the caller may not change
   *     it
   */
  public ApiKey apiKey(String id) {
    return apiKeys().stream()
        .filter(key -> key.id().equals(id))
        .findAny()
        .orElseThrow(
            () ->
                new SluiceClientException(
                    SluiceClientException.Code.NOT_FOUND, "API key not found: " + id));
  }

  /**
   * Replaces the permissions of an API key.
   *
   * @param id the key's id
   * @param permissions all permissions
   */
  public void setPermissions(String id, List<Permission> permissions) {
    connection.await(
        AdminGrpc.getSetPermissionsMethod(),
        SetPermissionsRequest.newBuilder()
            .setId(id)
            .addAllPermissions(permissions.stream().map(Permission::toWire).toList())
            .build());
  }

  /**
   * Returns the API key of this client; needs no permission.
   *
   * @return the name and the permissions of the key
   */
  public CurrentApiKey whoAmI() {
    return CurrentApiKey.of(
        connection.await(AdminGrpc.getWhoAmIMethod(), WhoAmIRequest.getDefaultInstance()));
  }

  /**
   * Returns information about the server; needs no permission.
   *
   * @return its version and start time
   */
  public ServerInfo serverInfo() {
    GetServerInfoResponse info =
        connection.await(
            AdminGrpc.getGetServerInfoMethod(), GetServerInfoRequest.getDefaultInstance());
    return new ServerInfo(info.getVersion(), Instant.ofEpochMilli(info.getStartedAtMs()));
  }
}
