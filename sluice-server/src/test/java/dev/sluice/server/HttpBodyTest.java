package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.http.RequestBodyReader;
import dev.sluice.server.transport.MinimumTransferRate;
import dev.sluice.server.transport.RequestMemoryBudget;
import io.undertow.Undertow;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.xnio.conduits.AbstractStreamSourceConduit;

/** A request whose body has not arrived is handled by one thread at a time. */
@Timeout(60)
final class HttpBodyTest {
  private static final int MAX_BYTES = 1_000;
  private static final String BEGIN =
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nbegin";

  private final RequestMemoryBudget budget = new RequestMemoryBudget(4_000);
  private final CompletableFuture<Boolean> endedInCall = new CompletableFuture<>();
  private final CompletableFuture<String> outcome = new CompletableFuture<>();
  private volatile boolean inCall;
  private Undertow server;

  private final RequestBodyReader.Receiver receiver =
      new RequestBodyReader.Receiver() {
        @Override
        public void received(byte[] body) {
          end("received");
        }

        @Override
        public void tooLarge(long limit) {
          end("too large");
        }

        @Override
        public void noRoom() {
          end("no room");
        }

        @Override
        public void broken(IOException why) {
          end("broken");
        }

        private void end(String how) {
          outcome.complete(how);
          endedInCall.complete(inCall);
        }
      };

  @BeforeEach
  void start() {
    serve(this::read);
  }

  private void serve(HttpHandler handler) {
    server =
        Undertow.builder()
            .addHttpListener(0, "127.0.0.1")
            .setServerOption(RequestBodyReader.MAX_BYTES, MAX_BYTES)
            .setHandler(exchange -> exchange.dispatch(handler))
            .build();
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop();
  }

  /** Others evict the request before the thread that began to read it has left it. */
  private void read(HttpServerExchange exchange) throws InterruptedException {
    inCall = true;
    RequestMemoryBudget.Reservation room = budget.part(exchange.getConnection(), null);
    assertThat(room.take(MAX_BYTES - 100)).isTrue();
    RequestBodyReader.read(exchange, room, MinimumTransferRate.DEFAULT, receiver);
    evict();
    CountDownLatch turned = new CountDownLatch(1);
    exchange.getIoThread().execute(turned::countDown);
    turned.await();
    inCall = false;
    exchange.getIoThread().executeAfter(this::evict, 100, TimeUnit.MILLISECONDS);
  }

  private void evict() {
    for (int i = 0; i < 8; i++) {
      assertThat(budget.part(new Object(), null).take(500)).isIn(true, false);
    }
  }

  /** The thread that reads has all bytes when the eviction is decided, and does not hear of it. */
  private void readLate(HttpServerExchange exchange) {
    RequestMemoryBudget.Reservation room = budget.part(exchange.getConnection(), null);
    assertThat(room.take(MAX_BYTES - 100)).isTrue();
    room.evictBy(() -> {});
    exchange.addRequestWrapper(
        (conduit, same) ->
            new AbstractStreamSourceConduit<>(conduit.create()) {
              @Override
              public int read(ByteBuffer buffer) throws IOException {
                int read = super.read(buffer);
                if (read < 0) {
                  evict();
                }
                return read;
              }
            });
    RequestBodyReader.read(exchange, room, MinimumTransferRate.DEFAULT, receiver);
  }

  @Test
  void bodyThatIsEvictedAfterItsLastByte_isRefused() throws Exception {
    server.stop();
    serve(this::readLate);
    InetSocketAddress address = (InetSocketAddress) server.getListenerInfo().get(0).getAddress();
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), address.getPort())) {
      client.getOutputStream().write(BEGIN.getBytes(StandardCharsets.US_ASCII));
      client.getOutputStream().write(new byte[95]);
      assertThat(outcome.get(30, TimeUnit.SECONDS)).isEqualTo("no room");
    }
  }

  @Test
  void eviction_waitsUntilTheCallHasLeftTheExchange() throws Exception {
    InetSocketAddress address = (InetSocketAddress) server.getListenerInfo().get(0).getAddress();
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), address.getPort())) {
      client.getOutputStream().write(BEGIN.getBytes(StandardCharsets.US_ASCII));
      assertThat(endedInCall.get(30, TimeUnit.SECONDS)).isFalse();
    }
  }
}
