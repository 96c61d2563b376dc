package dev.sluice.server;

import dev.sluice.server.Permission.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** API keys over HTTP. */
final class HttpKeys implements HttpRoute.Group {
  private static final int CREATED = 201;
  private static final String ALL = "/v1/keys";
  private static final String ONE = ALL + "/{id}";

  private final KeyApi keys;

  HttpKeys(KeyApi keys) {
    this.keys = keys;
  }

  /** Something that a key allows. */
  record Allowed(@Nullable String kind, @Nullable String pattern) {
    static Allowed of(Permission permission) {
      return new Allowed(permission.kind().word(), permission.pattern());
    }

    Permission toPermission(int index) {
      if (kind == null || pattern == null) {
        throw ApiException.invalid(
            "permissions[%d].%s must be there".formatted(index, kind == null ? "kind" : "pattern"));
      }
      return new Permission(Kind.of(kind), pattern);
    }
  }

  /** A key to be made. */
  record NewKey(
      @Nullable String name,
      @Nullable Long expiresAtMs,
      @Nullable Boolean superadmin,
      @Nullable List<@Nullable Allowed> permissions) {}

  /** A key that was made; this is the only time that it is shown. */
  record Created(String id, String key) {}

  /** What a key is to allow. */
  record Permissions(@Nullable List<@Nullable Allowed> permissions) {}

  /** A key, without its secret. */
  record Known(
      String id,
      String name,
      long createdAtMs,
      long expiresAtMs,
      boolean superadmin,
      List<Allowed> permissions) {
    static Known of(Key key) {
      return new Known(
          key.id(),
          key.name(),
          key.createdAtMs(),
          key.expiresAtMs(),
          key.superadmin(),
          key.permissions().stream().map(Allowed::of).toList());
    }
  }

  /** The key of a call itself. */
  record Own(String name, long expiresAtMs, boolean superadmin, List<Allowed> permissions) {
    static Own of(Caller caller) {
      return new Own(
          caller.name(),
          caller.expiresAtMs(),
          caller.superadmin(),
          caller.permissions().stream().map(Allowed::of).toList());
    }
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(
        HttpRoute.of("GET", "/v1/whoami", HttpKeys::whoAmI),
        HttpRoute.of("GET", ALL, this::list).listing(),
        HttpRoute.of("POST", ALL, this::create).needingSome(Kind.ADMIN),
        HttpRoute.of("GET", ONE, this::get),
        HttpRoute.of("DELETE", ONE, this::revoke),
        HttpRoute.of("PUT", ONE + "/permissions", this::setPermissions).needingSome(Kind.ADMIN));
  }

  private static String id(HttpRequest request) {
    return request.parameter("id");
  }

  private static List<Permission> permissions(List<@Nullable Allowed> wanted) {
    List<Permission> all = new ArrayList<>(wanted.size());
    for (Allowed each : wanted) {
      if (each == null) {
        throw ApiException.invalid("permissions[%d] must not be null".formatted(all.size()));
      }
      all.add(each.toPermission(all.size()));
    }
    return all;
  }

  private static HttpReply whoAmI(HttpRequest request) {
    return HttpReply.now(HttpAnswer.ok(Own.of(request.caller())));
  }

  private HttpReply list(HttpRequest request) {
    List<Known> all = keys.list(request.caller()).stream().map(Known::of).toList();
    return HttpReply.now(HttpAnswer.ok(Map.of("keys", all)));
  }

  private HttpReply create(HttpRequest request) {
    NewKey wanted = request.read(NewKey.class);
    String name = wanted.name();
    if (name == null) {
      throw ApiException.invalid("name must be there");
    }
    Long expiresAtMs = wanted.expiresAtMs();
    Boolean superadmin = wanted.superadmin();
    List<@Nullable Allowed> allowed = wanted.permissions();
    KeyApi.Created created =
        keys.create(
            request.caller(),
            new KeyApi.NewKey(
                name,
                expiresAtMs == null ? Key.NEVER : expiresAtMs,
                superadmin != null && superadmin,
                allowed == null ? List.of() : permissions(allowed)));
    return HttpReply.now(HttpAnswer.json(CREATED, new Created(created.id(), created.token())));
  }

  private HttpReply get(HttpRequest request) {
    return HttpReply.now(HttpAnswer.ok(Known.of(keys.get(request.caller(), id(request)))));
  }

  private HttpReply revoke(HttpRequest request) {
    keys.revoke(request.caller(), id(request));
    return HttpReply.now(HttpAnswer.nothing());
  }

  private HttpReply setPermissions(HttpRequest request) {
    List<@Nullable Allowed> wanted = request.read(Permissions.class).permissions();
    if (wanted == null) {
      throw ApiException.invalid("permissions must be there");
    }
    keys.setPermissions(request.caller(), id(request), permissions(wanted));
    return get(request);
  }
}
