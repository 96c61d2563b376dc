package dev.sluice.attacks.catalog;

import java.io.IOException;
import java.util.Random;

/** Sends bytes that mean nothing, or the beginning of a handshake of TLS, to both ports. */
final class Garbage extends Attack {
  private static final int SIZE = 4_096;
  private static final byte[] CLIENT_HELLO = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, -4};

  Garbage() {
    super("garbage", Family.CONNECTIONS, Access.NO_KEY, Bounds.of(400, 8, 4));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.parallel(
        4,
        number -> {
          Random random = new Random(number);
          while (attempt.isRunning()) {
            send(attempt, number % 2 == 0, random);
            attempt.pause(20);
          }
        });
  }

  private static void send(Attempt attempt, boolean http, Random random)
      throws InterruptedException {
    byte[] bytes = new byte[SIZE];
    random.nextBytes(bytes);
    if (random.nextBoolean()) {
      System.arraycopy(CLIENT_HELLO, 0, bytes, 0, CLIENT_HELLO.length);
    }
    try (Attempt.Connection connection = http ? attempt.http() : attempt.bareGrpc()) {
      connection.send(bytes);
      connection.awaitClosed();
    } catch (IOException reset) {
      attempt.cutOff();
    }
  }
}
