package dev.sluice.server.http;

import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * A whole answer over HTTP.
 *
 * @param status its code
 * @param headers those beyond the type of the content
 * @param type of the content
 * @param body the content
 */
public @SuppressWarnings("ArrayRecordComponent") // sent, not compared
record HttpResponse(int status, Map<String, String> headers, String type, byte[] body) {
  private static final String JSON = "application/json";

  /**
   * Headers of every answer, unless it sets its own: they forbid caching, content sniffing, and use
   * in pages of other sites.
   */
  static final Map<String, String> GUARDS =
      Map.of(
          "Cache-Control",
          "no-store",
          "X-Content-Type-Options",
          "nosniff",
          "Cross-Origin-Resource-Policy",
          "same-origin");

  private static final Map<String, String> SOON = Map.of("Retry-After", "1");

  /** With this scheme, browsers do not ask the user for a password. */
  private static final Map<String, String> WITH_A_KEY = Map.of("WWW-Authenticate", "Bearer");

  private static final int OK = 200;
  private static final int NO_CONTENT = 204;

  /** The code and message of an error. */
  public record ErrorBody(HttpResponse.ErrorDetail error) {
    public static HttpResponse.ErrorBody of(ApiException refused) {
      return new HttpResponse.ErrorBody(
          new HttpResponse.ErrorDetail(
              refused.kind().name(), String.valueOf(refused.getMessage())));
    }
  }

  /** The code of {@link ErrorKind}, and words. */
  public record ErrorDetail(String code, String message) {}

  public static HttpResponse ok(Object value) {
    return json(OK, value);
  }

  public static HttpResponse json(int status, Object value) {
    return new HttpResponse(status, Map.of(), JSON, JsonCodec.write(value));
  }

  /** Returns a response with a body of {@link JsonCodec#writeCamel}. */
  public static HttpResponse camel(int status, Object value) {
    return new HttpResponse(status, Map.of(), JSON, JsonCodec.writeCamel(value));
  }

  public static HttpResponse text(String type, String text) {
    return new HttpResponse(OK, Map.of(), type, text.getBytes(StandardCharsets.UTF_8));
  }

  public static HttpResponse nothing() {
    return new HttpResponse(NO_CONTENT, Map.of(), JSON, new byte[0]);
  }

  static HttpResponse refusal(ApiException refused) {
    HttpResponse answer = refusal(refused.kind().http, refused);
    return switch (refused.kind()) {
      case UNAVAILABLE -> answer.with(SOON);
      case UNAUTHENTICATED -> answer.with(WITH_A_KEY);
      default -> answer;
    };
  }

  /** Returns a refusal with a status of HTTP that the error kind does not have. */
  static HttpResponse refusal(int status, ApiException refused) {
    return json(status, HttpResponse.ErrorBody.of(refused));
  }

  public HttpResponse with(Map<String, String> more) {
    return new HttpResponse(status, more, type, body);
  }
}
