package dev.sluice.server.http;

import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Permission;
import dev.sluice.server.support.ApiException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A method and a path that the server answers.
 *
 * @param method in capitals
 * @param template the path; a segment in braces is a parameter
 * @param lists whether the answer may have thousands of entries, or the broker goes through all
 *     fairness keys of a queue, or all queues: of one account, one such call is handled at a time
 * @param open whether it is answered without a key
 * @param query what may stand behind the question mark; null for anything, which is not looked at
 * @param need what the path alone says that a caller must be allowed to do
 * @param handler does the work, on a thread that may wait
 */
public record HttpRoute(
    String method,
    String template,
    boolean lists,
    boolean open,
    @Nullable List<String> query,
    HttpRoute.Requirement need,
    Handler handler) {
  /** The most segments of a path, more than any template has. */
  private static final int MAX_SEGMENTS = 16;

  /** Checks a caller before the body is read; the handler makes the complete check. */
  public interface Requirement {
    /** Throws unless {@code caller} may; {@code parameters} are those of the path. */
    void require(Caller caller, Supplier<Map<String, String>> parameters);
  }

  /** Does the work of a route; its exceptions become error responses. */
  public interface Handler {
    HandlerResult handle(HttpRequest request);
  }

  /** Routes that belong together. */
  public interface RouteGroup {
    List<HttpRoute> routes();
  }

  public static HttpRoute of(String method, String template, Handler handler) {
    return new HttpRoute(method, template, false, false, List.of(), HttpRoute::requireAny, handler);
  }

  public static HttpRoute open(String method, String template, Handler handler) {
    return new HttpRoute(method, template, false, true, List.of(), (caller, path) -> {}, handler);
  }

  /** Returns a copy whose response may have thousands of entries. */
  public HttpRoute listing() {
    return new HttpRoute(method, template, true, open, query, need, handler);
  }

  /** Returns a copy that takes these query parameters. */
  public HttpRoute taking(String... names) {
    return new HttpRoute(method, template, lists, open, List.of(names), need, handler);
  }

  /** Returns a copy that takes any query, as links to pages may have one. */
  public HttpRoute takingAnyQuery() {
    return new HttpRoute(method, template, lists, open, null, need, handler);
  }

  /** Returns a copy that requires {@code kind} for the name in {@code parameter} of the path. */
  public HttpRoute needing(Permission.Kind kind, String parameter) {
    return needing((caller, path) -> caller.require(kind, path.get().getOrDefault(parameter, "")));
  }

  /** Returns a copy that requires {@code kind} for at least one name; the body has the name. */
  public HttpRoute needingSome(Permission.Kind kind) {
    return needing((caller, path) -> caller.requireSome(kind));
  }

  /** Returns a copy that requires {@code admin} for all names. */
  public HttpRoute needingAdminOfAll() {
    return needing((caller, path) -> caller.requireAdminOfAll());
  }

  /** Returns a copy with another requirement. */
  public HttpRoute needing(HttpRoute.Requirement other) {
    return new HttpRoute(method, template, lists, open, query, other, handler);
  }

  /** A key without any permission sends no body. */
  private static void requireAny(Caller caller, Supplier<Map<String, String>> path) {
    if (!caller.superadmin() && caller.permissions().isEmpty()) {
      throw Caller.denied("a permission");
    }
  }

  /** Throws if the body of {@code caller} must not be read; without a body the handler decides. */
  void admit(Caller caller, Supplier<Map<String, String>> parameters) {
    if (takesBody()) {
      need.require(caller, parameters);
    }
  }

  public boolean takesBody() {
    return method.equals("POST") || method.equals("PUT") || method.equals("PATCH");
  }

  /** Returns the parameters of a path, still encoded; empty if it is another one. */
  Optional<Map<String, String>> match(List<String> given) {
    List<String> wanted = segments(template);
    if (wanted.size() != given.size()) {
      return Optional.empty();
    }
    Map<String, String> parameters = new LinkedHashMap<>();
    for (int i = 0; i < wanted.size(); i++) {
      String segment = wanted.get(i);
      if (segment.startsWith("{")) {
        parameters.put(segment.substring(1, segment.length() - 1), given.get(i));
      } else if (!segment.equals(given.get(i))) {
        return Optional.empty();
      }
    }
    return Optional.of(parameters);
  }

  /**
   * Returns the segments of {@code path}, still encoded. Those that no template has are one: the
   * path of a stranger may have thousands.
   */
  public static List<String> segments(String path) {
    return List.of(path.split("/", MAX_SEGMENTS));
  }

  /** Decodes the query; unknown or repeated parameters are refused, not ignored. */
  Map<String, String> read(Map<String, Deque<String>> given) {
    if (query == null) {
      return Map.of();
    }
    Map<String, String> all = new LinkedHashMap<>();
    given.forEach(
        (encoded, values) -> {
          String name = decode(encoded);
          requireKnown(name, query);
          String before = all.put(name, decode(values.getFirst()));
          if (before != null || values.size() > 1) {
            throw ApiException.invalid("query parameter must occur once: " + name);
          }
        });
    return all;
  }

  private void requireKnown(String name, List<String> known) {
    if (!known.contains(name)) {
      throw ApiException.invalid(
          known.isEmpty()
              ? "%s %s takes no query parameters: %s".formatted(method, template, name)
              : "query parameter must be one of %s, but was %s"
                  .formatted(String.join(", ", known), name));
    }
  }

  /** Undoes percent encoding; a plus stays one. */
  static String decode(String text) {
    try {
      return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException malformed) {
      throw ApiException.invalid(
          "percent encoding must be two hexadecimal digits, but was " + text);
    }
  }
}
