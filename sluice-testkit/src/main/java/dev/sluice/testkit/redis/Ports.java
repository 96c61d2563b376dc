package dev.sluice.testkit.redis;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** Free ports on the loopback address. */
final class Ports {
  /*
   * Below the ports that the system hands to outgoing connections (from 32768): while a server is
   * down, its port must not become some client's own, or a client that calls it meets itself.
   */
  private static final int LOWEST = 12_000;
  private static final int BEYOND = 32_000;
  private static final int TRIES = 1_000;

  private Ports() {}

  /** Returns a port that was free a moment ago; the caller must be ready to try another. */
  static int free() {
    for (int i = 0; i < TRIES; i++) {
      int port = ThreadLocalRandom.current().nextInt(LOWEST, BEYOND);
      if (isFree(port)) {
        return port;
      }
    }
    throw new IllegalStateException("no free port from " + LOWEST + " to " + (BEYOND - 1));
  }

  private static boolean isFree(int port) {
    try (ServerSocket socket = new ServerSocket()) {
      socket.bind(new InetSocketAddress(RedisConsole.loopback(), port));
      return true;
    } catch (IOException e) {
      return false;
    }
  }
}
