package dev.sluice.server.http.routes;

import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.ApiKeyOperations;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Permission;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.http.HandlerResult;
import dev.sluice.server.http.HttpRequest;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.support.ApiException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** API keys over HTTP. */
public final class ApiKeyRoutes implements HttpRoute.RouteGroup {
  private static final int CREATED = 201;
  private static final String ALL = "/v1/api-keys";
  private static final String ONE = ALL + "/{id}";

  private final ApiKeyOperations keys;

  public ApiKeyRoutes(ApiKeyOperations keys) {
    this.keys = keys;
  }

  /** Something that a key allows. */
  public record PermissionJson(@Nullable String kind, @Nullable String pattern) {
    static ApiKeyRoutes.PermissionJson of(Permission permission) {
      return new ApiKeyRoutes.PermissionJson(permission.kind().word(), permission.pattern());
    }

    Permission toPermission(int index) {
      if (kind == null || pattern == null) {
        throw ApiException.invalid(
            "permissions[%d].%s is required".formatted(index, kind == null ? "kind" : "pattern"));
      }
      return new Permission(Kind.of(kind), pattern);
    }
  }

  /** A key to be made. */
  public record NewApiKey(
      @Nullable String name,
      @Nullable Long expiresAtMs,
      @Nullable Boolean superadmin,
      @Nullable List<ApiKeyRoutes.@Nullable PermissionJson> permissions) {}

  /** A key that was made; this is the only time that it is shown. */
  public record CreatedApiKey(String id, String secret) {}

  /** The new permissions of an API key. */
  public record Permissions(@Nullable List<ApiKeyRoutes.@Nullable PermissionJson> permissions) {}

  /** A key, without its secret. */
  public record ApiKeyJson(
      String id,
      String name,
      long createdAtMs,
      long expiresAtMs,
      boolean superadmin,
      List<ApiKeyRoutes.PermissionJson> permissions) {
    static ApiKeyRoutes.ApiKeyJson of(ApiKey key) {
      return new ApiKeyRoutes.ApiKeyJson(
          key.id(),
          key.name(),
          key.createdAtMs(),
          key.expiresAtMs(),
          key.superadmin(),
          key.permissions().stream().map(ApiKeyRoutes.PermissionJson::of).toList());
    }
  }

  /** The key of a call itself. */
  public record CurrentApiKeyJson(
      String name,
      long expiresAtMs,
      boolean superadmin,
      List<ApiKeyRoutes.PermissionJson> permissions) {
    static ApiKeyRoutes.CurrentApiKeyJson of(Caller caller) {
      return new ApiKeyRoutes.CurrentApiKeyJson(
          caller.name(),
          caller.expiresAtMs(),
          caller.superadmin(),
          caller.permissions().stream().map(ApiKeyRoutes.PermissionJson::of).toList());
    }
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(
        HttpRoute.of("GET", "/v1/whoami", ApiKeyRoutes::whoAmI),
        HttpRoute.of("GET", ALL, this::list).listing(),
        HttpRoute.of("POST", ALL, this::create).needingSome(Kind.ADMIN),
        HttpRoute.of("GET", ONE, this::get),
        HttpRoute.of("DELETE", ONE, this::revoke),
        HttpRoute.of("PUT", ONE + "/permissions", this::setPermissions).needingSome(Kind.ADMIN));
  }

  private static String id(HttpRequest request) {
    return request.parameter("id");
  }

  private static List<Permission> permissions(List<ApiKeyRoutes.@Nullable PermissionJson> wanted) {
    List<Permission> all = new ArrayList<>(wanted.size());
    for (ApiKeyRoutes.PermissionJson each : wanted) {
      if (each == null) {
        throw ApiException.invalid("permissions[%d] must not be null".formatted(all.size()));
      }
      all.add(each.toPermission(all.size()));
    }
    return all;
  }

  private static HandlerResult whoAmI(HttpRequest request) {
    return HandlerResult.now(HttpResponse.ok(ApiKeyRoutes.CurrentApiKeyJson.of(request.caller())));
  }

  private HandlerResult list(HttpRequest request) {
    List<ApiKeyRoutes.ApiKeyJson> all =
        keys.list(request.caller()).stream().map(ApiKeyRoutes.ApiKeyJson::of).toList();
    return HandlerResult.now(HttpResponse.ok(Map.of("api_keys", all)));
  }

  private HandlerResult create(HttpRequest request) {
    NewApiKey wanted = request.read(NewApiKey.class);
    String name = wanted.name();
    if (name == null) {
      throw ApiException.invalid("name is required");
    }
    Long expiresAtMs = wanted.expiresAtMs();
    Boolean superadmin = wanted.superadmin();
    List<ApiKeyRoutes.@Nullable PermissionJson> allowed = wanted.permissions();
    ApiKeyOperations.Created created =
        keys.create(
            request.key(),
            new ApiKeyOperations.NewKey(
                name,
                expiresAtMs == null ? ApiKey.NEVER : expiresAtMs,
                superadmin != null && superadmin,
                allowed == null ? List.of() : permissions(allowed)));
    return HandlerResult.now(
        HttpResponse.json(CREATED, new CreatedApiKey(created.id(), created.token())));
  }

  private HandlerResult get(HttpRequest request) {
    return HandlerResult.now(
        HttpResponse.ok(ApiKeyRoutes.ApiKeyJson.of(keys.get(request.caller(), id(request)))));
  }

  private HandlerResult revoke(HttpRequest request) {
    keys.revoke(request.key(), id(request));
    return HandlerResult.now(HttpResponse.nothing());
  }

  private HandlerResult setPermissions(HttpRequest request) {
    List<ApiKeyRoutes.@Nullable PermissionJson> wanted =
        request.read(Permissions.class).permissions();
    if (wanted == null) {
      throw ApiException.invalid("permissions is required");
    }
    keys.setPermissions(request.key(), id(request), permissions(wanted));
    return get(request);
  }
}
