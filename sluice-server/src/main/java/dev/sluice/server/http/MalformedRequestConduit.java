package dev.sluice.server.http;

import dev.sluice.server.support.ApiException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.xnio.conduits.AbstractStreamSinkConduit;
import org.xnio.conduits.StreamSinkConduit;

/*
 * A request that Undertow cannot parse never reaches a handler: Undertow writes fixed bytes and
 * closes the connection. Only a conduit below it can add a body to them.
 */

/** Answers malformed HTTP with an error in the same form as all other errors. */
final class MalformedRequestConduit extends AbstractStreamSinkConduit<StreamSinkConduit> {
  private static final ByteBuffer FROM_UNDERTOW =
      ascii("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  private static final ByteBuffer OURS = ours();

  private @Nullable ByteBuffer pending;

  MalformedRequestConduit(StreamSinkConduit next) {
    super(next);
  }

  private static ByteBuffer ascii(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)).asReadOnlyBuffer();
  }

  private static ByteBuffer ours() {
    HttpResponse answer =
        HttpResponse.refusal(ApiException.invalid("the request is not proper HTTP/1.1"));
    StringBuilder head = new StringBuilder("HTTP/1.1 400 Bad Request\r\n");
    Map<String, String> headers = new LinkedHashMap<>(HttpResponse.GUARDS);
    headers.put("Connection", "close");
    headers.put("Content-Type", answer.type());
    headers.forEach((name, value) -> head.append(name).append(": ").append(value).append("\r\n"));
    head.append("Content-Length: ").append(answer.body().length).append("\r\n\r\n");
    return ascii(head + new String(answer.body(), StandardCharsets.US_ASCII));
  }

  @Override
  public int write(ByteBuffer source) throws IOException {
    if (pending == null && source.equals(FROM_UNDERTOW)) {
      pending = OURS.duplicate();
    }
    if (pending == null) {
      return next.write(source);
    }
    while (pending.hasRemaining()) {
      if (next.write(pending) == 0) {
        return 0;
      }
    }
    int written = source.remaining();
    source.position(source.limit());
    return written;
  }
}
