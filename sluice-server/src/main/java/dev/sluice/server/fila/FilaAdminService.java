package dev.sluice.server.fila;

import dev.sluice.server.auth.ApiKeyOperations;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.fila.v1.ConfigEntry;
import dev.sluice.server.fila.v1.CreateApiKeyRequest;
import dev.sluice.server.fila.v1.CreateApiKeyResponse;
import dev.sluice.server.fila.v1.CreateQueueRequest;
import dev.sluice.server.fila.v1.CreateQueueResponse;
import dev.sluice.server.fila.v1.DeleteQueueRequest;
import dev.sluice.server.fila.v1.DeleteQueueResponse;
import dev.sluice.server.fila.v1.FilaAdminGrpc;
import dev.sluice.server.fila.v1.GetAclRequest;
import dev.sluice.server.fila.v1.GetAclResponse;
import dev.sluice.server.fila.v1.GetConfigRequest;
import dev.sluice.server.fila.v1.GetConfigResponse;
import dev.sluice.server.fila.v1.GetStatsRequest;
import dev.sluice.server.fila.v1.GetStatsResponse;
import dev.sluice.server.fila.v1.ListApiKeysRequest;
import dev.sluice.server.fila.v1.ListApiKeysResponse;
import dev.sluice.server.fila.v1.ListConfigRequest;
import dev.sluice.server.fila.v1.ListConfigResponse;
import dev.sluice.server.fila.v1.ListQueuesRequest;
import dev.sluice.server.fila.v1.ListQueuesResponse;
import dev.sluice.server.fila.v1.RedriveRequest;
import dev.sluice.server.fila.v1.RedriveResponse;
import dev.sluice.server.fila.v1.RevokeApiKeyRequest;
import dev.sluice.server.fila.v1.RevokeApiKeyResponse;
import dev.sluice.server.fila.v1.SetAclRequest;
import dev.sluice.server.fila.v1.SetAclResponse;
import dev.sluice.server.fila.v1.SetConfigRequest;
import dev.sluice.server.fila.v1.SetConfigResponse;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.RequestAdmission;
import dev.sluice.server.grpc.UnaryCalls;
import dev.sluice.server.operations.AdminOperations;
import dev.sluice.server.operations.QueueOperations;
import io.grpc.stub.StreamObserver;
import java.util.List;

/** {@code fila.v1.FilaAdmin}: queues, configuration and keys, for clients of fila. */
public final class FilaAdminService extends FilaAdminGrpc.FilaAdminImplBase {
  private final QueueOperations queues;
  private final FilaConfigOperations config;
  private final AdminOperations admin;
  private final ApiKeyOperations keys;
  private final OpenStreams streams;

  public FilaAdminService(
      QueueOperations queues,
      FilaConfigOperations config,
      AdminOperations admin,
      ApiKeyOperations keys,
      OpenStreams streams) {
    this.queues = queues;
    this.config = config;
    this.admin = admin;
    this.keys = keys;
    this.streams = streams;
  }

  @Override
  public void createQueue(CreateQueueRequest request, StreamObserver<CreateQueueResponse> call) {
    String name = request.getName();
    UnaryCalls.answer(
        call,
        caller -> {
          queues.require(caller, Kind.ADMIN, name);
          queues.create(caller, name, FilaProtoMapper.config(request.getConfig()));
          return CreateQueueResponse.newBuilder().setQueueId(name).build();
        });
  }

  @Override
  public void deleteQueue(DeleteQueueRequest request, StreamObserver<DeleteQueueResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          queues.delete(caller, request.getQueue(), null);
          return DeleteQueueResponse.getDefaultInstance();
        });
  }

  @Override
  public void setConfig(SetConfigRequest request, StreamObserver<SetConfigResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          config.set(caller, request.getKey(), request.getValue());
          return SetConfigResponse.getDefaultInstance();
        });
  }

  @Override
  public void getConfig(GetConfigRequest request, StreamObserver<GetConfigResponse> call) {
    UnaryCalls.answer(
        call,
        caller ->
            GetConfigResponse.newBuilder().setValue(config.get(caller, request.getKey())).build());
  }

  @Override
  public void listConfig(ListConfigRequest request, StreamObserver<ListConfigResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          ListConfigResponse.Builder response = ListConfigResponse.newBuilder();
          config
              .list(caller, request.getPrefix())
              .forEach(
                  (key, value) ->
                      response.addEntries(ConfigEntry.newBuilder().setKey(key).setValue(value)));
          return response.setTotalCount(response.getEntriesCount()).build();
        });
  }

  @Override
  public void getStats(GetStatsRequest request, StreamObserver<GetStatsResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          return FilaProtoMapper.stats(
              queues.stats(caller, request.getQueue()), admin.throttles(caller));
        });
  }

  @Override
  public void redrive(RedriveRequest request, StreamObserver<RedriveResponse> call) {
    // A number without a sign: above half of its range it is more than there can be.
    long count = request.getCount() < 0 ? Long.MAX_VALUE : request.getCount();
    UnaryCalls.answerLater(
        call,
        caller ->
            streams.endedWithServer(
                queues.redrive(
                    AuthenticationInterceptor.key(), request.getDlqQueue(), count, false)),
        redriven -> RedriveResponse.newBuilder().setRedriven(redriven).build());
    RequestAdmission.parsed();
  }

  @Override
  public void listQueues(ListQueuesRequest request, StreamObserver<ListQueuesResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          ListQueuesResponse.Builder response = ListQueuesResponse.newBuilder();
          queues
              .list(caller)
              .forEach((name, stats) -> response.addQueues(FilaProtoMapper.info(name, stats)));
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
                      request.getIsSuperadmin(),
                      List.of()));
          return CreateApiKeyResponse.newBuilder()
              .setKeyId(created.id())
              .setKey(created.token())
              .setIsSuperadmin(request.getIsSuperadmin())
              .build();
        });
  }

  @Override
  public void revokeApiKey(RevokeApiKeyRequest request, StreamObserver<RevokeApiKeyResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          caller.requireAdminOfAll();
          keys.revoke(AuthenticationInterceptor.key(), request.getKeyId());
          return RevokeApiKeyResponse.getDefaultInstance();
        });
  }

  @Override
  public void listApiKeys(ListApiKeysRequest request, StreamObserver<ListApiKeysResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          caller.requireAdminOfAll();
          return ListApiKeysResponse.newBuilder()
              .addAllKeys(keys.list(caller).stream().map(FilaProtoMapper::key).toList())
              .build();
        });
  }

  @Override
  public void setAcl(SetAclRequest request, StreamObserver<SetAclResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          keys.setPermissions(
              AuthenticationInterceptor.key(),
              request.getKeyId(),
              FilaProtoMapper.permissions(request.getPermissionsList()));
          return SetAclResponse.getDefaultInstance();
        });
  }

  @Override
  public void getAcl(GetAclRequest request, StreamObserver<GetAclResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          caller.requireAdminOfAll();
          return FilaProtoMapper.acl(keys.get(caller, request.getKeyId()));
        });
  }
}
