package dev.sluice.bench.server;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** One client's connection to one queue of a broker, for a load that does not know which. */
interface Wire extends AutoCloseable {
  /** A message that was delivered. */
  interface Taken {
    byte[] payload();

    /** Completes when the broker has it, if it says so. */
    CompletableFuture<?> ack();
  }

  /** Completes when the broker has stored it. */
  CompletableFuture<?> send(byte[] payload) throws Exception;

  /** Waits so long for the first; none if none came. */
  List<Taken> take(int most, Duration timeout) throws Exception;

  @Override
  void close();
}
