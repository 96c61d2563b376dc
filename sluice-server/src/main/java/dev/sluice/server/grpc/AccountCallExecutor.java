package dev.sluice.server.grpc;

import dev.sluice.server.auth.Credential;
import dev.sluice.server.transport.AccountExecutors;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallExecutorSupplier;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/*
 * gRPC runs a call on its executor whenever something has happened to it, one run at a time, and a
 * run handles everything that has happened by then: the start, messages, their end, a cancellation.
 *
 * The start checks the key and takes memory, which is little work: it goes to the threads at once,
 * so that calls which wait for a turn are counted and those without a key are refused soon. All
 * that follows goes to the share of the account, which is known then: requests are parsed and
 * executed there.
 *
 * No message may be handled at the start, and a run must end even if messages keep arriving. So
 * messages that are asked for in a run are asked for when the run is over.
 *
 * A run that finds large messages waits for their turn (CallTurn): it gives its thread back, and
 * comes again. gRPC begins no other run of the call meanwhile.
 */

/**
 * Runs gRPC calls with a key on the {@linkplain AccountExecutors share} of threads of their account
 * (of their connection, where the server asks for no keys). As an interceptor, it runs after {@link
 * AuthenticationInterceptor}.
 */
public final class AccountCallExecutor implements ServerCallExecutorSupplier, ServerInterceptor {
  private static final ThreadLocal<AccountCallExecutor.AccountExecutor> CURRENT =
      new ThreadLocal<>();

  /**
   * Calls besides {@code List...} that take long: their answers have many entries, or the broker
   * goes through all fairness keys of the queue, or all queues, for them.
   */
  private static final Set<String> LISTS =
      Set.of("GetQueue", "GetStats", "CreateQueue", "UpdateQueue");

  private final AccountExecutors shares;
  private final Executor pool;

  /** {@code shares} divides the threads of {@code pool}. */
  public AccountCallExecutor(AccountExecutors shares, Executor pool) {
    this.shares = shares;
    this.pool = pool;
  }

  /** Returns the threads that the shares are of. */
  Executor pool() {
    return pool;
  }

  /** Returns the threads on which a long answer to the call that is being handled is made. */
  public static Executor forAnswer() {
    AccountCallExecutor.AccountExecutor turns = CURRENT.get();
    return turns == null ? Runnable::run : turns.ending;
  }

  /** Returns the turn of the call that is being handled; null if its caller needs no key. */
  static @Nullable CallTurn turn() {
    AccountCallExecutor.AccountExecutor turns = CURRENT.get();
    return turns == null ? null : turns.turn;
  }

  @Override
  public <Q, A> Executor getExecutor(ServerCall<Q, A> call, Metadata headers) {
    return new AccountCallExecutor.AccountExecutor(pool);
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    AccountCallExecutor.AccountExecutor turns = Objects.requireNonNull(CURRENT.get());
    Credential key = AuthenticationInterceptor.key();
    Object owner = key.owner();
    turns.share = shares.of(owner, pool, isList(call.getMethodDescriptor()));
    turns.ending = shares.forAnswers(owner, pool);
    turns.turn = new CallTurn(shares.requests().of(owner), key);
    return next.startCall(
        new SimpleForwardingServerCall<>(call) {
          @Override
          public void request(int messages) {
            turns.request(delegate(), messages);
          }
        },
        headers);
  }

  private static boolean isList(MethodDescriptor<?, ?> method) {
    String name = String.valueOf(method.getBareMethodName());
    return name.startsWith("List") || LISTS.contains(name);
  }

  /** Runs one call. */
  private static final class AccountExecutor implements Executor {
    private volatile Executor share;
    private volatile Executor ending;
    private volatile @Nullable CallTurn turn;

    // Used by the current run alone.
    private @Nullable ServerCall<?, ?> asking;
    private int asked;

    AccountExecutor(Executor pool) {
      this.share = pool;
      this.ending = pool;
    }

    @Override
    public void execute(Runnable run) {
      share.execute(() -> run(run));
    }

    private void run(Runnable run) {
      CallTurn known = turn;
      if (known != null && !known.mayRun(() -> execute(run))) {
        return;
      }
      CURRENT.set(this);
      try {
        run.run();
      } finally {
        CURRENT.remove();
        if (known != null) {
          known.ran();
        }
        ask();
      }
    }

    void request(ServerCall<?, ?> call, int messages) {
      if (CURRENT.get() == this) {
        asking = call;
        asked += messages;
      } else {
        call.request(messages);
      }
    }

    private void ask() {
      ServerCall<?, ?> call = asking;
      if (call != null) {
        int messages = asked;
        asking = null;
        asked = 0;
        call.request(messages);
      }
    }
  }
}
