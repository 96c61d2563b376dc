package dev.sluice.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A wire between client and server that can be cut: all connections break at once. */
final class Wire implements AutoCloseable {
  private final ServerSocket listener;
  private final int target;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private volatile boolean down;

  Wire(int target) throws IOException {
    this.target = target;
    this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    start(this::accept);
  }

  int port() {
    return listener.getLocalPort();
  }

  /** Breaks all connections; new ones are taken. */
  void cut() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
  }

  /** Breaks all connections, and new ones too until {@link #mend}. */
  void takeDown() throws IOException {
    down = true;
    cut();
  }

  void mend() {
    down = false;
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket near = listener.accept();
        if (down) {
          near.close();
          continue;
        }
        Socket far = new Socket(InetAddress.getLoopbackAddress(), target);
        sockets.add(near);
        sockets.add(far);
        start(() -> copy(near, far));
        start(() -> copy(far, near));
      } catch (IOException closed) {
        // The loop ends if it was the listener; else that connection has failed, as wires do.
      }
    }
  }

  private void copy(Socket from, Socket to) {
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      byte[] bytes = new byte[16 << 10];
      for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
        out.write(bytes, 0, read);
        out.flush();
      }
    } catch (IOException cut) {
      // Both are closed.
    } finally {
      sockets.remove(from);
      sockets.remove(to);
    }
  }

  private static void start(Runnable task) {
    Thread thread = new Thread(task, "wire");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() throws IOException {
    listener.close();
    cut();
  }
}
