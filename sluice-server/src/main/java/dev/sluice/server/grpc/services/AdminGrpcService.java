package dev.sluice.server.grpc.services;

import dev.sluice.proto.v1.AdminGrpc;
import dev.sluice.proto.v1.CreateApiKeyRequest;
import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.GetConfigRequest;
import dev.sluice.proto.v1.GetConfigResponse;
import dev.sluice.proto.v1.GetServerInfoRequest;
import dev.sluice.proto.v1.GetServerInfoResponse;
import dev.sluice.proto.v1.ListApiKeysRequest;
import dev.sluice.proto.v1.ListApiKeysResponse;
import dev.sluice.proto.v1.ListConfigRequest;
import dev.sluice.proto.v1.ListConfigResponse;
import dev.sluice.proto.v1.ListThrottlesRequest;
import dev.sluice.proto.v1.ListThrottlesResponse;
import dev.sluice.proto.v1.RemoveConfigRequest;
import dev.sluice.proto.v1.RemoveConfigResponse;
import dev.sluice.proto.v1.RemoveThrottleRequest;
import dev.sluice.proto.v1.RemoveThrottleResponse;
import dev.sluice.proto.v1.RevokeApiKeyRequest;
import dev.sluice.proto.v1.RevokeApiKeyResponse;
import dev.sluice.proto.v1.SetConfigRequest;
import dev.sluice.proto.v1.SetConfigResponse;
import dev.sluice.proto.v1.SetPermissionsRequest;
import dev.sluice.proto.v1.SetPermissionsResponse;
import dev.sluice.proto.v1.SetThrottleRequest;
import dev.sluice.proto.v1.SetThrottleResponse;
import dev.sluice.proto.v1.WhoAmIRequest;
import dev.sluice.proto.v1.WhoAmIResponse;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.ApiKeyOperations;
import dev.sluice.server.auth.Permission;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.UnaryCalls;
import dev.sluice.server.operations.AdminOperations;
import dev.sluice.server.operations.LimitOperations;
import io.grpc.stub.StreamObserver;
import java.util.List;

/** {@code sluice.v1.Admin}. */
public final class AdminGrpcService extends AdminGrpc.AdminImplBase {
  private final AdminOperations admin;
  private final ApiKeyOperations keys;

  public AdminGrpcService(AdminOperations admin, ApiKeyOperations keys) {
    this.admin = admin;
    this.keys = keys;
  }

  @Override
  public void setConfig(SetConfigRequest request, StreamObserver<SetConfigResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          admin.setConfig(caller, request.getKey(), request.getValue());
          return SetConfigResponse.getDefaultInstance();
        });
  }

  @Override
  public void getConfig(GetConfigRequest request, StreamObserver<GetConfigResponse> call) {
    UnaryCalls.answer(
        call,
        caller ->
            GetConfigResponse.newBuilder()
                .setValue(admin.config(caller, request.getKey()))
                .build());
  }

  @Override
  public void removeConfig(RemoveConfigRequest request, StreamObserver<RemoveConfigResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          admin.removeConfig(caller, request.getKey());
          return RemoveConfigResponse.getDefaultInstance();
        });
  }

  @Override
  public void listConfig(ListConfigRequest request, StreamObserver<ListConfigResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          ListConfigResponse.Builder response = ListConfigResponse.newBuilder();
          admin
              .listConfig(caller, request.getPrefix())
              .forEach(
                  (key, value) ->
                      response.addEntries(
                          ListConfigResponse.Entry.newBuilder().setKey(key).setValue(value)));
          return response.build();
        });
  }

  @Override
  public void setThrottle(SetThrottleRequest request, StreamObserver<SetThrottleResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          admin.setThrottle(
              caller, request.getKey(), request.getRatePerSecond(), request.getBurst());
          return SetThrottleResponse.getDefaultInstance();
        });
  }

  @Override
  public void removeThrottle(
      RemoveThrottleRequest request, StreamObserver<RemoveThrottleResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          admin.removeThrottle(caller, request.getKey());
          return RemoveThrottleResponse.getDefaultInstance();
        });
  }

  @Override
  public void listThrottles(
      ListThrottlesRequest request, StreamObserver<ListThrottlesResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          ListThrottlesResponse.Builder response = ListThrottlesResponse.newBuilder();
          admin
              .throttles(caller)
              .forEach(
                  each ->
                      response.addThrottles(
                          ListThrottlesResponse.Throttle.newBuilder()
                              .setKey(each.name())
                              .setRatePerSecond(LimitOperations.Rate.of(each.limit()).perSecond())
                              .setBurst(LimitOperations.Rate.of(each.limit()).burst())
                              .setTokens(each.level())));
          return response.build();
        });
  }

  @Override
  public void createApiKey(CreateApiKeyRequest request, StreamObserver<CreateApiKeyResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          ApiKeyOperations.Created created =
              keys.create(
                  AuthenticationInterceptor.key(),
                  new ApiKeyOperations.NewKey(
                      request.getName(),
                      request.getExpiresAtMs(),
                      request.getSuperadmin(),
                      permissions(request.getPermissionsList())));
          return CreateApiKeyResponse.newBuilder()
              .setId(created.id())
              .setSecret(created.token())
              .build();
        });
  }

  @Override
  public void revokeApiKey(RevokeApiKeyRequest request, StreamObserver<RevokeApiKeyResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          keys.revoke(AuthenticationInterceptor.key(), request.getId());
          return RevokeApiKeyResponse.getDefaultInstance();
        });
  }

  @Override
  public void listApiKeys(ListApiKeysRequest request, StreamObserver<ListApiKeysResponse> call) {
    UnaryCalls.answer(
        call,
        caller ->
            ListApiKeysResponse.newBuilder()
                .addAllApiKeys(keys.list(caller).stream().map(AdminGrpcService::key).toList())
                .build());
  }

  @Override
  public void setPermissions(
      SetPermissionsRequest request, StreamObserver<SetPermissionsResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          keys.setPermissions(
              AuthenticationInterceptor.key(),
              request.getId(),
              permissions(request.getPermissionsList()));
          return SetPermissionsResponse.getDefaultInstance();
        });
  }

  @Override
  public void getServerInfo(
      GetServerInfoRequest request, StreamObserver<GetServerInfoResponse> call) {
    UnaryCalls.answer(
        call,
        caller ->
            GetServerInfoResponse.newBuilder()
                .setVersion(admin.info().version())
                .setStartedAtMs(admin.info().startedAtMs())
                .build());
  }

  @Override
  public void whoAmI(WhoAmIRequest request, StreamObserver<WhoAmIResponse> call) {
    UnaryCalls.answer(
        call,
        caller ->
            WhoAmIResponse.newBuilder()
                .setName(caller.name())
                .setExpiresAtMs(caller.expiresAtMs())
                .setSuperadmin(caller.superadmin())
                .addAllPermissions(
                    caller.permissions().stream().map(AdminGrpcService::wire).toList())
                .build());
  }

  private static dev.sluice.proto.v1.Permission wire(Permission permission) {
    return dev.sluice.proto.v1.Permission.newBuilder()
        .setKind(permission.kind().word())
        .setPattern(permission.pattern())
        .build();
  }

  private static List<Permission> permissions(List<dev.sluice.proto.v1.Permission> wire) {
    return wire.stream()
        .map(each -> new Permission(Permission.Kind.of(each.getKind()), each.getPattern()))
        .toList();
  }

  private static ListApiKeysResponse.ApiKey key(ApiKey key) {
    ListApiKeysResponse.ApiKey.Builder wire =
        ListApiKeysResponse.ApiKey.newBuilder()
            .setId(key.id())
            .setName(key.name())
            .setCreatedAtMs(key.createdAtMs())
            .setExpiresAtMs(key.expiresAtMs())
            .setSuperadmin(key.superadmin());
    return wire.addAllPermissions(key.permissions().stream().map(AdminGrpcService::wire).toList())
        .build();
  }
}
