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
 * Configuration, throttles and API keys of a server; from {@link SluiceClient#administration}. For
 * any number of threads. Every method blocks until the server has answered and throws a {@link
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
   * Sets a value that scripts read.
   *
   * @param key its key
   * @param value its value
   */
  public void setConfig(String key, String value) {
    connection.await(
        AdminGrpc.getSetConfigMethod(),
        SetConfigRequest.newBuilder().setKey(key).setValue(value).build());
  }

  /**
   * A value that scripts read.
   *
   * @param key its key
   * @return its value; {@code NOT_FOUND} if there is none
   */
  public String config(String key) {
    return connection
        .await(AdminGrpc.getGetConfigMethod(), GetConfigRequest.newBuilder().setKey(key).build())
        .getValue();
  }

  /**
   * Removes a value that scripts read.
   *
   * @param key its key
   */
  public void removeConfig(String key) {
    connection.await(
        AdminGrpc.getRemoveConfigMethod(), RemoveConfigRequest.newBuilder().setKey(key).build());
  }

  /**
   * The values that scripts read.
   *
   * @param prefix how their keys begin; empty for all
   * @return by key
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
   * Sets how fast messages with a throttle key are delivered.
   *
   * @param key the throttle key
   * @param ratePerSecond tokens that come back each second
   * @param burst the most tokens there are at a time
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
   * Removes the rate of a throttle key.
   *
   * @param key the throttle key
   */
  public void removeThrottle(String name) {
    connection.await(
        AdminGrpc.getRemoveThrottleMethod(),
        RemoveThrottleRequest.newBuilder().setKey(name).build());
  }

  /**
   * The rates of all throttle keys.
   *
   * @return as the server orders them
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
   * Makes an API key. Nobody grants more than they have.
   *
   * @param key what it is to allow
   * @return the key with its secret, which nobody shows again
   */
  public CreatedApiKey createApiKey(NewApiKey key) {
    CreateApiKeyResponse created =
        connection.await(AdminGrpc.getCreateApiKeyMethod(), key.toWire());
    return new CreatedApiKey(created.getId(), created.getSecret());
  }

  /**
   * Ends an API key.
   *
   * @param id what it is known by
   */
  public void revokeApiKey(String id) {
    connection.await(
        AdminGrpc.getRevokeApiKeyMethod(), RevokeApiKeyRequest.newBuilder().setId(id).build());
  }

  /**
   * The API keys that the caller may change.
   *
   * @return without their secrets
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
   * One API key.
   *
   * @param id what it is known by
   * @return without its secret; {@code NOT_FOUND} if the caller may not change such a key
   */
  public ApiKey apiKey(String id) {
    return apiKeys().stream()
        .filter(key -> key.id().equals(id))
        .findAny()
        .orElseThrow(
            () ->
                new SluiceClientException(
                    SluiceClientException.Code.NOT_FOUND, "there is no such key: " + id));
  }

  /**
   * Replaces what an API key allows.
   *
   * @param id what it is known by
   * @param permissions all of them
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
   * Returns the key that this client calls with; needs no permission.
   *
   * @return what it allows
   */
  public CurrentApiKey whoAmI() {
    return CurrentApiKey.of(
        connection.await(AdminGrpc.getWhoAmIMethod(), WhoAmIRequest.getDefaultInstance()));
  }

  /**
   * What the server is; needs no permission.
   *
   * @return its version and since when it runs
   */
  public ServerInfo serverInfo() {
    GetServerInfoResponse info =
        connection.await(
            AdminGrpc.getGetServerInfoMethod(), GetServerInfoRequest.getDefaultInstance());
    return new ServerInfo(info.getVersion(), Instant.ofEpochMilli(info.getStartedAtMs()));
  }
}
