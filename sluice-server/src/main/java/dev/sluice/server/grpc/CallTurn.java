package dev.sluice.server.grpc;

import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.WatchedCall;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.transport.RequestTurns;
import org.jspecify.annotations.Nullable;

/*
 * A run of a call (see AccountCallExecutor) parses the messages that have arrived, so a run that
 * finds large ones waits for a turn. The turn ends with the run, unless the run has handed a unary
 * request to its service: then it ends when the memory of the request is given back, which is when
 * the service has answered or has called RequestAdmission.parsed().
 *
 * A unary request without its end is parsed, too, but gives up the turn after that: a client that
 * withholds the end would keep its account from working. It needs a second turn to be executed.
 *
 * A run may still be ending while the next one begins, so runs are counted. A message of a stream
 * that arrives during a run may be parsed by it without a turn; the next one is not.
 *
 * The lock of this object is taken before that of the turns. The action of a waiting request only
 * hands its run to a thread, so it may run under the lock of another call.
 */

/**
 * The {@linkplain RequestTurns turn} of the requests of one gRPC call. A call that waits for it has
 * no thread and keeps its memory; it goes on at once, without being parsed or executed, when its
 * client leaves, its deadline passes or its key ends. Thread-safe.
 */
final class CallTurn {
  private final RequestTurns.Turn turn;
  private final Credential key;

  // Guarded by this.
  private long arrived;
  private int runs;
  private boolean begun;
  private boolean executing;
  private @Nullable ApiException refusal;

  CallTurn(RequestTurns.Turn turn, Credential key) {
    this.turn = turn;
    this.key = key;
  }

  /** A message of so many bytes waits for the next run. */
  synchronized void arrived(long bytes) {
    arrived += bytes;
  }

  /** The service has taken a message of a stream. */
  synchronized void taken(long bytes) {
    arrived -= bytes;
  }

  /**
   * Returns whether a run may begin, which {@link #ran} must end. Otherwise {@code later} is called
   * once, when it is worth asking again.
   */
  boolean mayRun(Runnable later) {
    WatchedCall watch;
    synchronized (this) {
      if (arrived <= RequestTurns.FREE_BYTES) {
        runs++;
        return true;
      }
      watch = key.unstarted(this::refuse);
      if (turn.begin(
          arrived,
          () -> {
            watch.close();
            later.run();
          })) {
        begun = true;
        runs++;
        return true;
      }
    }
    // Closed by now if the turn has come meanwhile; then this does nothing.
    watch.start();
    return false;
  }

  /** A run is over. */
  synchronized void ran() {
    runs--;
    if (runs == 0 && !executing) {
      end();
    }
  }

  private void end() {
    if (begun) {
      begun = false;
      turn.end();
    }
  }

  /** The run hands a complete unary request to its service. */
  synchronized void executing() {
    executing = true;
  }

  /** The memory of a unary request is given back. */
  synchronized void answered() {
    arrived = 0;
    executing = false;
    end();
  }

  /** The client has left, or the deadline has passed. */
  void canceled() {
    refuse(new ApiException(ErrorKind.UNAVAILABLE, "the call was canceled"));
  }

  private synchronized void refuse(ApiException why) {
    if (refusal == null) {
      refusal = why;
    }
    turn.abandon();
  }

  /**
   * Spares parsing a request that will not be executed.
   *
   * @throws ApiException if the call was canceled, or its key ended while it waited
   */
  synchronized void requireWanted() {
    if (refusal != null) {
      throw refusal;
    }
  }

  /** Returns whether the server lets the call wait, whose client is not slow then. */
  boolean isWaiting() {
    return turn.isWaiting();
  }
}
