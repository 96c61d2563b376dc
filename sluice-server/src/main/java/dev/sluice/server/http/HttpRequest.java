package dev.sluice.server.http;

import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.transport.RequestMemoryBudget;
import dev.sluice.server.transport.ResponseMemoryBudget;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A request over HTTP, all of it there.
 *
 * @param key what it was made with
 * @param parameters those of the path, by name
 * @param query those behind the question mark, by name
 * @param header the fields of that name, with commas between them, if there are any
 * @param body its content
 * @param room the memory of the answer; given back when the answer has been sent
 * @param work the memory of what is made of a large body; given back when the answer is known
 * @param parsed gives back the memory of the body before the answer is known. A handler must call
 *     it if a client decides how long the operation takes; it may call it if the operation keeps
 *     nothing of the body, or accounts for what it keeps
 * @param ends runs its argument when the answer has been sent, or the client has disconnected
 */
public @SuppressWarnings("ArrayRecordComponent") // read, not compared
record HttpRequest(
    Credential key,
    Map<String, String> parameters,
    Map<String, String> query,
    Function<String, Optional<String>> header,
    byte[] body,
    ResponseMemoryBudget.Reservation room,
    RequestMemoryBudget.Reservation work,
    Runnable parsed,
    Consumer<Runnable> ends) {
  public Caller caller() {
    return key.caller();
  }

  public String parameter(String name) {
    String value = parameters.get(name);
    if (value == null) {
      throw new IllegalStateException("the route has no such parameter: " + name);
    }
    return value;
  }

  /** The body as a {@code type}. */
  public <T> T read(Class<T> type) {
    return JsonCodec.read(body, work::take, type);
  }

  /** Reads the body with {@link JsonCodec#readCamel}. */
  public <T> T readCamel(Class<T> type) {
    return JsonCodec.readCamel(body, work::take, type);
  }

  /** Reads the body as {@link #read} does; no body counts as an empty object. */
  public <T> T readOptional(Class<T> type) {
    return body.length == 0 ? JsonCodec.read(new byte[] {'{', '}'}, work::take, type) : read(type);
  }

  public int queryInt(String name, int otherwise) {
    String value = query.get(name);
    if (value == null) {
      return otherwise;
    }
    try {
      return Integer.parseInt(value);
    } catch (NumberFormatException malformed) {
      throw ApiException.invalid("%s must be a whole number, but was %s".formatted(name, value));
    }
  }
}
