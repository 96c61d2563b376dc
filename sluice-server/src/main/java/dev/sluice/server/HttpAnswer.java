package dev.sluice.server;

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
@SuppressWarnings("ArrayRecordComponent") // sent, not compared
record HttpAnswer(int status, Map<String, String> headers, String type, byte[] body) {
  private static final String JSON = "application/json";

  /**
   * Of every answer, unless it says otherwise: nobody keeps it, takes it for something else, or
   * puts it into the page of another site.
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

  /** Browsers ask nobody for a password then. */
  private static final Map<String, String> WITH_A_KEY = Map.of("WWW-Authenticate", "Bearer");

  private static final int OK = 200;
  private static final int NO_CONTENT = 204;

  /** What is wrong, as every error is told. */
  record Failure(Problem error) {
    static Failure of(ApiException refused) {
      return new Failure(new Problem(refused.kind().name(), String.valueOf(refused.getMessage())));
    }
  }

  /** The code of {@link ErrorKind}, and words. */
  record Problem(String code, String message) {}

  static HttpAnswer ok(Object value) {
    return json(OK, value);
  }

  static HttpAnswer json(int status, Object value) {
    return new HttpAnswer(status, Map.of(), JSON, Json.write(value));
  }

  /** As {@link Json#writeCamel} has it. */
  static HttpAnswer camel(int status, Object value) {
    return new HttpAnswer(status, Map.of(), JSON, Json.writeCamel(value));
  }

  static HttpAnswer text(String type, String text) {
    return new HttpAnswer(OK, Map.of(), type, text.getBytes(StandardCharsets.UTF_8));
  }

  static HttpAnswer nothing() {
    return new HttpAnswer(NO_CONTENT, Map.of(), JSON, new byte[0]);
  }

  static HttpAnswer refusal(ApiException refused) {
    HttpAnswer answer = refusal(refused.kind().http, refused);
    return switch (refused.kind()) {
      case UNAVAILABLE -> answer.with(SOON);
      case UNAUTHENTICATED -> answer.with(WITH_A_KEY);
      default -> answer;
    };
  }

  /** For what HTTP has a code of its own. */
  static HttpAnswer refusal(int status, ApiException refused) {
    return json(status, Failure.of(refused));
  }

  HttpAnswer with(Map<String, String> more) {
    return new HttpAnswer(status, more, type, body);
  }
}
