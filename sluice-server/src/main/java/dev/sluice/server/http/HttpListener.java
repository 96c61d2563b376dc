package dev.sluice.server.http;

import dev.sluice.server.TransportConfig;
import dev.sluice.server.transport.ConnectionLimiter;
import dev.sluice.server.transport.ProtocolListenerConfig;
import dev.sluice.server.transport.ReloadableTls;
import dev.sluice.server.transport.TlsContexts;
import io.undertow.UndertowOptions;
import io.undertow.connector.ByteBufferPool;
import io.undertow.protocols.ssl.UndertowXnioSsl;
import io.undertow.server.DefaultByteBufferPool;
import io.undertow.server.HttpHandler;
import io.undertow.server.protocol.http.HttpOpenListener;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.xnio.ChannelListener;
import org.xnio.ChannelListeners;
import org.xnio.IoUtils;
import org.xnio.OptionMap;
import org.xnio.Options;
import org.xnio.Sequence;
import org.xnio.SslClientAuthMode;
import org.xnio.StreamConnection;
import org.xnio.Xnio;
import org.xnio.XnioExecutor;
import org.xnio.XnioWorker;
import org.xnio.channels.AcceptingChannel;
import org.xnio.conduits.ConduitStreamSinkChannel;
import org.xnio.ssl.SslConnection;

/**
 * The socket of HTTP. It is put together here, and not by Undertow's builder, because that has no
 * place to refuse a connection.
 */
public final class HttpListener implements AutoCloseable {
  private static final int MAX_HEADERS = 100;
  private static final int MAX_PARAMETERS = 100;
  private static final int PARSE_TIMEOUT_MS = 5_000;

  /** The idle timeout, longer than the longest wait of a call. */
  private static final int IDLE_TIMEOUT_MS = 120_000;

  private static final int IO_THREADS = 2;
  private static final int BACKLOG = 1_000;
  private static final int BUFFER_BYTES = 16 << 10;
  private static final int BUFFERS_OF_A_THREAD = 4;
  private static final long END_SECONDS = 5;

  private final ConnectionLimiter places;
  private final Duration handshake;
  private final ByteBufferPool buffers =
      new DefaultByteBufferPool(true, BUFFER_BYTES, -1, BUFFERS_OF_A_THREAD);
  private final HttpOpenListener connections;
  private final XnioWorker worker;
  private final AcceptingChannel<? extends StreamConnection> socket;

  private HttpListener(ProtocolListenerConfig listen, ConnectionLimiter places, HttpHandler root)
      throws IOException {
    TransportConfig limits = listen.limits();
    handshake = listen.handshake();
    this.places = places;
    connections = new HttpOpenListener(buffers, httpOptions(limits));
    connections.setRootHandler(root);
    worker = Xnio.getInstance().createWorker(workerOptions());
    try {
      ReloadableTls tls = listen.tls();
      socket = tls == null ? plain(listen.address()) : encrypted(listen.address(), tls);
    } catch (IOException | RuntimeException failure) {
      worker.shutdownNow();
      throw failure;
    }
    socket.resumeAccepts();
  }

  /** {@code places} counts the connections. */
  static HttpListener open(
      ProtocolListenerConfig listen, ConnectionLimiter places, HttpHandler root)
      throws IOException {
    return new HttpListener(listen, places, root);
  }

  private static OptionMap httpOptions(TransportConfig limits) {
    return OptionMap.builder()
        .set(UndertowOptions.BUFFER_PIPELINED_DATA, true)
        .set(UndertowOptions.MAX_ENTITY_SIZE, -1L)
        .set(RequestBodyReader.MAX_BYTES, limits.maxRequestBytes())
        .set(UndertowOptions.MAX_HEADER_SIZE, limits.maxHeaderBytes())
        .set(UndertowOptions.MAX_HEADERS, MAX_HEADERS)
        .set(UndertowOptions.MAX_PARAMETERS, MAX_PARAMETERS)
        .set(UndertowOptions.REQUEST_PARSE_TIMEOUT, PARSE_TIMEOUT_MS)
        .set(UndertowOptions.NO_REQUEST_TIMEOUT, IDLE_TIMEOUT_MS)
        .set(UndertowOptions.IDLE_TIMEOUT, IDLE_TIMEOUT_MS)
        .set(UndertowOptions.ENABLE_STATISTICS, true)
        .set(UndertowOptions.DECODE_URL, false)
        .getMap();
  }

  /** Returns how many threads handle requests. */
  public static int threads() {
    return 2 * Runtime.getRuntime().availableProcessors() + 2;
  }

  private static OptionMap workerOptions() {
    return OptionMap.builder()
        .set(Options.WORKER_IO_THREADS, IO_THREADS)
        .set(Options.WORKER_TASK_CORE_THREADS, threads())
        .set(Options.WORKER_TASK_MAX_THREADS, threads())
        .getMap();
  }

  private static OptionMap.Builder socketOptions() {
    return OptionMap.builder()
        .set(Options.TCP_NODELAY, true)
        .set(Options.REUSE_ADDRESSES, true)
        .set(Options.BACKLOG, BACKLOG);
  }

  private AcceptingChannel<StreamConnection> plain(InetSocketAddress address) throws IOException {
    ChannelListener<AcceptingChannel<StreamConnection>> accept =
        ChannelListeners.openListenerAdapter(this::opened);
    return worker.createStreamConnectionServer(address, accept, socketOptions().getMap());
  }

  private AcceptingChannel<? extends StreamConnection> encrypted(
      InetSocketAddress address, ReloadableTls tls) throws IOException {
    OptionMap.Builder options =
        socketOptions()
            .set(Options.SSL_ENABLED_PROTOCOLS, Sequence.of(TlsContexts.PROTOCOLS))
            .set(
                Options.SSL_CLIENT_AUTH_MODE,
                tls.asksForCertificates()
                    ? SslClientAuthMode.REQUIRED
                    : SslClientAuthMode.NOT_REQUESTED);
    UndertowXnioSsl ssl =
        new UndertowXnioSsl(worker.getXnio(), OptionMap.EMPTY, buffers, tls.http());
    tls.onReload(ssl::updateSSLContext);
    return ssl.createSslConnectionServer(
        worker, address, ChannelListeners.openListenerAdapter(this::opened), options.getMap());
  }

  private void opened(StreamConnection connection) {
    SocketAddress client = connection.getPeerAddress();
    ConnectionLimiter.Slot place =
        client == null ? null : places.open(client, () -> end(connection));
    if (place == null) {
      IoUtils.safeClose(connection);
      return;
    }
    ConduitStreamSinkChannel out = connection.getSinkChannel();
    out.setConduit(new MalformedRequestConduit(out.getConduit()));
    if (connection instanceof SslConnection encrypted) {
      boundHandshake(encrypted);
    }
    connections.handleEvent(connection);
    // Undertow has its own listener by now, and keeps it; a connection that is closed calls at
    // once.
    connection.setCloseListener(closed -> place.close());
  }

  /** Makes room for another connection. */
  private static void end(StreamConnection connection) {
    connection.getIoThread().execute(() -> IoUtils.safeClose(connection));
  }

  /** Closes the connection if its TLS handshake takes too long, even if bytes keep arriving. */
  private void boundHandshake(SslConnection connection) {
    // Weak: a connection that is closed early must not stay in memory until the timeout.
    WeakReference<SslConnection> unfinished = new WeakReference<>(connection);
    XnioExecutor.Key timeout =
        connection
            .getIoThread()
            .executeAfter(
                () -> IoUtils.safeClose(unfinished.get()),
                handshake.toMillis(),
                TimeUnit.MILLISECONDS);
    connection.getHandshakeSetter().set(done -> timeout.remove());
  }

  long openConnections() {
    return connections.getConnectorStatistics().getActiveConnections();
  }

  /** Requests that are being answered. */
  long openRequests() {
    return connections.getConnectorStatistics().getActiveRequests();
  }

  int port() {
    return socket.getLocalAddress(InetSocketAddress.class).getPort();
  }

  @Override
  public void close() {
    IoUtils.safeClose(socket);
    connections.closeConnections();
    worker.shutdown();
    try {
      if (!worker.awaitTermination(END_SECONDS, TimeUnit.SECONDS)) {
        worker.shutdownNow();
      }
    } catch (InterruptedException now) {
      worker.shutdownNow();
      Thread.currentThread().interrupt();
    }
    buffers.close();
  }
}
