package dev.sluice.attacks;

import java.io.IOException;

/** A well-behaved client on either wire: one call at a time, in an endless round of four calls. */
interface GoodClient extends AutoCloseable {
  /** Calls of a round. */
  int CALLS = 4;

  /** The content of a message: long enough for its answer to need memory of the server. */
  String PAYLOAD = "hello ".repeat(2_000);

  /** Thrown if the server refuses an allowed call, or gives a wrong answer. */
  final class WrongAnswer extends IOException {
    private static final long serialVersionUID = 1;

    WrongAnswer(String what) {
      super(what);
    }
  }

  /** Stores a message. */
  void enqueue() throws IOException;

  /** Receives it. */
  void receive() throws IOException;

  /** Acknowledges it. */
  void ack() throws IOException;

  /** Asks for a decision on a limit, which must be granted. */
  void decide() throws IOException;

  @Override
  void close() throws IOException;

  /** Makes the call whose turn it is. */
  default void call(int turn) throws IOException {
    switch (turn % CALLS) {
      case 0 -> enqueue();
      case 1 -> receive();
      case 2 -> ack();
      default -> decide();
    }
  }
}
