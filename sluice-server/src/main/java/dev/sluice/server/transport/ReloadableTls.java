package dev.sluice.server.transport;

import dev.sluice.server.TlsConfig;
import dev.sluice.server.support.FileWatcher;
import dev.sluice.server.support.Reloadable;
import io.grpc.netty.shaded.io.netty.buffer.ByteBufAllocator;
import io.grpc.netty.shaded.io.netty.handler.ssl.ApplicationProtocolNegotiator;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import java.io.IOException;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSessionContext;
import org.jspecify.annotations.Nullable;

/*
 * A connection takes its engine from the context that is current when it is accepted, and keeps it:
 * a reload affects new connections only. Every reload makes new contexts, so that no session or
 * ticket of an old one can be resumed. A resumed session would neither see the new certificate nor
 * be checked against the new client CA.
 */

/** The certificate, key and client CA for new connections of gRPC and HTTP; reloadable. */
public final class ReloadableTls implements Reloadable {
  private static final int HEXADECIMAL = 16;

  private final TlsConfig files;
  private final FileWatcher watch;
  private final InstantSource clock;
  private final SslContext grpc = new CurrentContext();
  private volatile TlsContexts current;

  // Guarded by this.
  private final List<Consumer<SSLContext>> listeners = new ArrayList<>();

  private ReloadableTls(TlsConfig files, InstantSource clock) throws IOException {
    this.files = files;
    this.clock = clock;
    // Before the files are read, so that no change is missed.
    this.watch = new FileWatcher(paths(files));
    this.current = TlsContexts.read(files);
  }

  private static List<Path> paths(TlsConfig files) {
    Path clientCa = files.clientCa();
    return clientCa == null
        ? List.of(files.certificate(), files.key())
        : List.of(files.certificate(), files.key(), clientCa);
  }

  /**
   * Reads and checks the files.
   *
   * @throws IOException if one cannot be read
   * @throws IllegalArgumentException if one does not hold what it should
   */
  public static ReloadableTls read(TlsConfig files, InstantSource clock) throws IOException {
    return new ReloadableTls(files, clock);
  }

  /** Returns whether callers must present a certificate; a reload does not change this. */
  public boolean asksForCertificates() {
    return files.clientCa() != null;
  }

  /** Returns the context for gRPC, whose engines always use the files that were read last. */
  public SslContext grpc() {
    return grpc;
  }

  /** Returns the context for HTTP; {@link #onReload} announces later ones. */
  public SSLContext http() {
    return current.http();
  }

  /** Calls {@code http} with the context for HTTP now and after each reload. */
  public synchronized void onReload(Consumer<SSLContext> http) {
    listeners.add(http);
    http.accept(current.http());
  }

  /** Returns the watch over the files. */
  public FileWatcher watch() {
    return watch;
  }

  @Override
  public String name() {
    return "tls.cert_file";
  }

  /**
   * Reads the files again. New connections use them, open ones stay as they are.
   *
   * @return the serial number and the expiry of the certificate; empty if the certificate and the
   *     client CA are the same as before
   * @throws IOException if a file cannot be read; nothing has changed then
   * @throws IllegalArgumentException if one does not hold what it should, or the certificate is not
   *     valid now; nothing has changed then
   */
  @Override
  public synchronized String reload() throws IOException {
    watch.mark();
    TlsContexts read = TlsContexts.read(files);
    if (read.chain().equals(current.chain()) && read.clientCa().equals(current.clientCa())) {
      return "";
    }
    requireValid(read.certificate());
    current = read;
    listeners.forEach(http -> http.accept(read.http()));
    return "serial %s, valid until %s"
        .formatted(
            read.certificate().getSerialNumber().toString(HEXADECIMAL),
            read.certificate().getNotAfter().toInstant());
  }

  /** Checked by a reload alone: it must not replace a valid certificate by an expired one. */
  private void requireValid(X509Certificate certificate) {
    Instant now = clock.instant();
    Instant begin = certificate.getNotBefore().toInstant();
    Instant end = certificate.getNotAfter().toInstant();
    if (now.isBefore(begin) || now.isAfter(end)) {
      throw new IllegalArgumentException(
          "the tls certificate must be valid now: from %s to %s: %s"
              .formatted(begin, end, files.certificate()));
    }
  }

  /** Forwards each call to the context that is current at that moment. */
  private final class CurrentContext extends SslContext {
    @Override
    public boolean isClient() {
      return false;
    }

    @Override
    public List<String> cipherSuites() {
      return current.grpc().cipherSuites();
    }

    @Override
    @SuppressWarnings("deprecation") // there is no other type to return
    public ApplicationProtocolNegotiator applicationProtocolNegotiator() {
      return current.grpc().applicationProtocolNegotiator();
    }

    @Override
    public SSLEngine newEngine(ByteBufAllocator allocator) {
      return current.grpc().newEngine(allocator);
    }

    @Override
    public SSLEngine newEngine(ByteBufAllocator allocator, @Nullable String host, int port) {
      return current.grpc().newEngine(allocator, host, port);
    }

    @Override
    public SSLSessionContext sessionContext() {
      return current.grpc().sessionContext();
    }
  }
}
