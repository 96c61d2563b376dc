package dev.sluice.attacks.catalog;

/** Opens connections on both wires and says nothing. */
final class ConnectionFlood extends Attack {
  private static final int CONNECTIONS = 2_000;

  /** Some at once, then a pause: it is no contest between the accept queues of the kernel. */
  private static final int AT_ONCE = 10;

  ConnectionFlood() {
    super("connection-flood", Family.CONNECTIONS, Access.NO_KEY, Bounds.of(CONNECTIONS, 1, 1));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.parallel(
        2,
        number -> {
          for (int i = 0; i < CONNECTIONS / 2 && attempt.isRunning(); i++) {
            if (number == 0) {
              attempt.http();
            } else {
              attempt.rawGrpc();
            }
            if (i % AT_ONCE == 0) {
              attempt.pause(10);
            }
          }
          attempt.holdOn();
        });
  }
}
