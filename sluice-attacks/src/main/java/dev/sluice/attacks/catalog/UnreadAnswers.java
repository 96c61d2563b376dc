package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.HttpClient;
import java.io.ByteArrayOutputStream;
import java.io.IOException;

/** Asks for more and more over HTTP, request behind request, whether it reads answers or not. */
final class UnreadAnswers extends Attack {
  private static final int CONNECTIONS = 16;
  private static final int AT_ONCE = 50;

  private final String path;
  private final boolean read;

  UnreadAnswers(String name, Access access, String path, boolean read) {
    super(name, Family.CONNECTIONS, access, new Bounds(400, 4 << 20, 256 << 10));
    this.path = path;
    this.read = read;
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(CONNECTIONS, () -> ask(attempt));
  }

  private void ask(Attempt attempt) throws IOException {
    byte[] one = HttpClient.request("GET", path, attempt.key(), "");
    ByteArrayOutputStream many = new ByteArrayOutputStream();
    for (int i = 0; i < AT_ONCE; i++) {
      many.writeBytes(one);
    }
    try (Attempt.Connection connection = attempt.http()) {
      while (attempt.isRunning()) {
        connection.send(many.toByteArray());
        if (read) {
          connection.drain();
        }
      }
    }
  }
}
