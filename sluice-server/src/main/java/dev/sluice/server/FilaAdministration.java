package dev.sluice.server;

import dev.sluice.server.Permission.Kind;
import dev.sluice.server.fila.ConfigEntry;
import dev.sluice.server.fila.CreateApiKeyRequest;
import dev.sluice.server.fila.CreateApiKeyResponse;
import dev.sluice.server.fila.CreateQueueRequest;
import dev.sluice.server.fila.CreateQueueResponse;
import dev.sluice.server.fila.DeleteQueueRequest;
import dev.sluice.server.fila.DeleteQueueResponse;
import dev.sluice.server.fila.FilaAdminGrpc;
import dev.sluice.server.fila.GetAclRequest;
import dev.sluice.server.fila.GetAclResponse;
import dev.sluice.server.fila.GetConfigRequest;
import dev.sluice.server.fila.GetConfigResponse;
import dev.sluice.server.fila.GetStatsRequest;
import dev.sluice.server.fila.GetStatsResponse;
import dev.sluice.server.fila.ListApiKeysRequest;
import dev.sluice.server.fila.ListApiKeysResponse;
import dev.sluice.server.fila.ListConfigRequest;
import dev.sluice.server.fila.ListConfigResponse;
import dev.sluice.server.fila.ListQueuesRequest;
import dev.sluice.server.fila.ListQueuesResponse;
import dev.sluice.server.fila.RedriveRequest;
import dev.sluice.server.fila.RedriveResponse;
import dev.sluice.server.fila.RevokeApiKeyRequest;
import dev.sluice.server.fila.RevokeApiKeyResponse;
import dev.sluice.server.fila.SetAclRequest;
import dev.sluice.server.fila.SetAclResponse;
import dev.sluice.server.fila.SetConfigRequest;
import dev.sluice.server.fila.SetConfigResponse;
import io.grpc.stub.StreamObserver;
import java.util.List;

/** {@code fila.v1.FilaAdmin}: queues, configuration and keys, for clients of fila. */
final class FilaAdministration extends FilaAdminGrpc.FilaAdminImplBase {
  private final QueueApi queues;
  private final ConfigApi config;
  private final AdminApi admin;
  private final KeyApi keys;

  FilaAdministration(QueueApi queues, ConfigApi config, AdminApi admin, KeyApi keys) {
    this.queues = queues;
    this.config = config;
    this.admin = admin;
    this.keys = keys;
  }

  @Override
  public void createQueue(CreateQueueRequest request, StreamObserver<CreateQueueResponse> call) {
    String name = request.getName();
    Calls.answer(
        call,
        caller -> {
          queues.require(caller, Kind.ADMIN, name);
          queues.create(caller, name, FilaWire.config(request.getConfig()));
          return CreateQueueResponse.newBuilder().setQueueId(name).build();
        });
  }

  @Override
  public void deleteQueue(DeleteQueueRequest request, StreamObserver<DeleteQueueResponse> call) {
    Calls.answer(
        call,
        caller -> {
          queues.delete(caller, request.getQueue(), null);
          return DeleteQueueResponse.getDefaultInstance();
        });
  }

  @Override
  public void setConfig(SetConfigRequest request, StreamObserver<SetConfigResponse> call) {
    Calls.answer(
        call,
        caller -> {
          config.set(caller, request.getKey(), request.getValue());
          return SetConfigResponse.getDefaultInstance();
        });
  }

  @Override
  public void getConfig(GetConfigRequest request, StreamObserver<GetConfigResponse> call) {
    Calls.answer(
        call,
        caller ->
            GetConfigResponse.newBuilder().setValue(config.get(caller, request.getKey())).build());
  }

  @Override
  public void listConfig(ListConfigRequest request, StreamObserver<ListConfigResponse> call) {
    Calls.answer(
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
    Calls.answer(
        call,
        caller -> {
          return FilaWire.stats(queues.stats(caller, request.getQueue()), admin.throttles(caller));
        });
  }

  @Override
  public void redrive(RedriveRequest request, StreamObserver<RedriveResponse> call) {
    // A number without a sign: above half of its range it is more than there can be.
    long count = request.getCount() < 0 ? Long.MAX_VALUE : request.getCount();
    Calls.answerLater(
        call,
        caller -> {
          return queues.redrive(Access.key(), request.getDlqQueue(), count, false);
        },
        redriven -> RedriveResponse.newBuilder().setRedriven(redriven).build());
    InboundCalls.parsed();
  }

  @Override
  public void listQueues(ListQueuesRequest request, StreamObserver<ListQueuesResponse> call) {
    Calls.answer(
        call,
        caller -> {
          ListQueuesResponse.Builder response = ListQueuesResponse.newBuilder();
          queues
              .list(caller)
              .forEach((name, stats) -> response.addQueues(FilaWire.info(name, stats)));
          return response.build();
        });
  }

  @Override
  public void createApiKey(CreateApiKeyRequest request, StreamObserver<CreateApiKeyResponse> call) {
    Calls.answer(
        call,
        caller -> {
          KeyApi.Created created =
              keys.create(
                  caller,
                  new KeyApi.NewKey(
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
    Calls.answer(
        call,
        caller -> {
          caller.requireAdminOfAll();
          keys.revoke(caller, request.getKeyId());
          return RevokeApiKeyResponse.getDefaultInstance();
        });
  }

  @Override
  public void listApiKeys(ListApiKeysRequest request, StreamObserver<ListApiKeysResponse> call) {
    Calls.answer(
        call,
        caller -> {
          caller.requireAdminOfAll();
          return ListApiKeysResponse.newBuilder()
              .addAllKeys(keys.list(caller).stream().map(FilaWire::key).toList())
              .build();
        });
  }

  @Override
  public void setAcl(SetAclRequest request, StreamObserver<SetAclResponse> call) {
    Calls.answer(
        call,
        caller -> {
          keys.setPermissions(
              caller, request.getKeyId(), FilaWire.permissions(request.getPermissionsList()));
          return SetAclResponse.getDefaultInstance();
        });
  }

  @Override
  public void getAcl(GetAclRequest request, StreamObserver<GetAclResponse> call) {
    Calls.answer(
        call,
        caller -> {
          caller.requireAdminOfAll();
          return FilaWire.acl(keys.get(caller, request.getKeyId()));
        });
  }
}
