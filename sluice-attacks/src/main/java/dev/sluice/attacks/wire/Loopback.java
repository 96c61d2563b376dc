package dev.sluice.attacks.wire;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;

/** Opens sockets to this machine, and to no other. */
public final class Loopback {
  private static final int CONNECT_MS = 5_000;

  private Loopback() {}

  /**
   * Connects.
   *
   * @param patience how long a read may block
   * @throws IllegalArgumentException if the address is not a loopback address
   */
  public static Socket connect(InetSocketAddress address, Duration patience) throws IOException {
    return connect(address, patience, 0);
  }

  /**
   * Connects.
   *
   * @param receiveBytes the size of the receive buffer; 0 for the default of the system
   */
  public static Socket connect(InetSocketAddress address, Duration patience, int receiveBytes)
      throws IOException {
    requireLoopback(address);
    Socket socket = new Socket();
    try {
      if (receiveBytes > 0) {
        socket.setReceiveBufferSize(receiveBytes);
      }
      socket.setTcpNoDelay(true);
      socket.setSoTimeout((int) patience.toMillis());
      socket.connect(address, CONNECT_MS);
      return socket;
    } catch (IOException failure) {
      socket.close();
      throw failure;
    }
  }

  /** Throws unless the address is one of this machine that no other machine can reach. */
  public static void requireLoopback(InetSocketAddress address) {
    InetAddress ip = address.getAddress();
    if (ip == null || !ip.isLoopbackAddress()) {
      throw new IllegalArgumentException(
          "attacks go to loopback addresses only, but the target was " + address);
    }
  }
}
