package dev.sluice.attacks.catalog;

import java.io.IOException;

/** Opens more connections than the server may have, on both wires, and says nothing. */
final class IdleConnections extends Attack {
  /** On each wire; a server with 256 MB of heap has 1,024. */
  private static final int CONNECTIONS = 2_200;

  IdleConnections() {
    super("idle-connections", Family.CONNECTIONS, Access.NO_KEY, Bounds.of(2 * CONNECTIONS, 1, 1));
  }

  @Override
  void prepare(Attempt attempt) throws IOException {
    for (int i = 0; i < CONNECTIONS; i++) {
      attempt.http();
      attempt.bareGrpc();
    }
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.holdOn();
  }
}
