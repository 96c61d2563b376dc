package dev.sluice.server.grpc;

import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.MinimumTransferRate;
import dev.sluice.server.transport.RequestMemoryBudget;
import io.grpc.Context;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/*
 * gRPC buffers a message until all of it has arrived, then hands it to a thread that may be busy.
 * It keeps the message of a unary call until the client half-closes. Bytes are counted from their
 * arrival (a tracer reports them on the connection's thread) until nothing refers to the message:
 *
 * - that of a stream until the service has taken it;
 * - that of a unary call until its answer is known, because the operation may keep parts of it, or
 *   until the service calls parsed(). A service must do so where a client decides how long the
 *   operation takes; else clients that wait would hold the memory of all others.
 *
 * A call that is canceled keeps its memory until the service has heard of it, because its messages
 * may be waiting for a thread.
 *
 * gRPC reads no byte of a call before the service asks for it, which is after the caller's key was
 * checked: calls without a valid key take nothing.
 */

/**
 * Bounds the gRPC requests that are being received: their bytes by {@link RequestMemoryBudget},
 * their time by {@link MinimumTransferRate}. A request beyond either is refused and not executed.
 */
public final class RequestAdmission extends ServerStreamTracer.Factory {
  /** The overhead that a message may have beyond its own size: that of 1,000 pieces. */
  private static final long MAX_PIECES_BYTES = 1_000 * CallMemory.PIECE_BYTES;

  private static final Status TOO_MANY_PIECES =
      Status.RESOURCE_EXHAUSTED.withDescription(
          "a large request must come in pieces of %d bytes or more on average"
              .formatted(CallMemory.PIECE_BYTES));

  private static final Metadata.Key<String> ACCEPT_ENCODING =
      Metadata.Key.of("grpc-accept-encoding", Metadata.ASCII_STRING_MARSHALLER);

  private static final Context.Key<Inbound> INBOUND = Context.key("inbound bytes");

  private final MemoryBudgets memory;
  private final MinimumTransferRate pace;
  private final PendingCallLimiter gate;
  private final Set<Inbound> arriving = ConcurrentHashMap.newKeySet();

  RequestAdmission(MemoryBudgets memory, MinimumTransferRate pace, PendingCallLimiter gate) {
    this.memory = memory;
    this.pace = pace;
    this.gate = gate;
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String fullMethodName, Metadata headers) {
    return new Inbound();
  }

  /**
   * Returns an interceptor that budgets authenticated calls; it runs after {@link
   * AuthenticationInterceptor}.
   */
  ServerInterceptor ofCallers() {
    return new ServerInterceptor() {
      @Override
      public <Q, A> ServerCall.Listener<Q> interceptCall(
          ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        Object connection = connectionOf(call);
        Object account = AuthenticationInterceptor.key().account();
        CallMemory room =
            new CallMemory.Budgeted(
                memory.inbound().part(connection, account),
                memory.work().part(connection, account));
        return begin(room, call, headers, next);
      }
    };
  }

  /** Returns an interceptor for calls that need no key: small ones, outside of the budget. */
  ServerInterceptor ofStrangers() {
    return new ServerInterceptor() {
      @Override
      public <Q, A> ServerCall.Listener<Q> interceptCall(
          ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        return begin(new CallMemory.Small(), call, headers, next);
      }
    };
  }

  /** Returns an object that identifies the connection of a call. */
  static SocketAddress connectionOf(ServerCall<?, ?> call) {
    return Objects.requireNonNull(call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
  }

  private <Q, A> ServerCall.Listener<Q> begin(
      CallMemory room, ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Inbound inbound = INBOUND.get();
    EndableCall<Q, A> refusable = new EndableCall<>(call);
    Status full = room.open(headerBytes(call, headers), () -> refusable.refuse(CallMemory.NO_ROOM));
    if (full != null || !inbound.begin(refusable, room)) {
      room.close();
      refusable.refuse(full == null ? Status.CANCELLED : full);
      return new ServerCall.Listener<>() {};
    }
    ServerCall.Listener<Q> service = next.startCall(refusable, headers);
    inbound.listen();
    return refusable.listener(service, inbound);
  }

  /** Returns the size of the headers that gRPC keeps as long as the call is open. */
  private static long headerBytes(ServerCall<?, ?> call, Metadata headers) {
    return length(call.getAuthority()) + length(headers.get(ACCEPT_ENCODING));
  }

  private static long length(@Nullable String text) {
    return text == null ? 0 : text.length();
  }

  /**
   * Gives back the memory of the unary request that is being handled. To be called when the service
   * has begun an operation that keeps nothing of the request, or accounts for what it keeps.
   */
  public static void parsed() {
    Inbound inbound = INBOUND.get();
    if (inbound != null) {
      inbound.answered();
    }
  }

  /**
   * Checks that the request which is about to be parsed may still be executed.
   *
   * @throws ApiException if it was canceled, or its key ended while it waited for its turn
   */
  static void requireWanted() {
    Inbound inbound = INBOUND.get();
    CallTurn turn = inbound == null ? null : inbound.turn();
    if (turn != null) {
      turn.requireWanted();
    }
  }

  /**
   * Takes memory for the objects that are made of the request which is being parsed, as long as for
   * its bytes.
   *
   * @throws ApiException if there is none
   */
  static void parsing(long bytes) {
    Inbound inbound = INBOUND.get();
    if (inbound != null) {
      inbound.parsing(bytes);
    }
  }

  /**
   * Takes memory for the current call until the hold is closed.
   *
   * @throws ApiException if there is none
   */
  public static ConcurrencyQuota.Hold hold(long bytes) {
    Inbound inbound = INBOUND.get();
    return inbound == null ? () -> {} : inbound.hold(bytes);
  }

  /** Refuses requests that arrive too slowly; to be called about once a second. */
  void checkPace() {
    long now = System.nanoTime();
    arriving.forEach(each -> each.checkPace(now));
  }

  /** The bytes that one call has sent and the server still holds. */
  private final class Inbound extends ServerStreamTracer implements EndableCall.CallObserver {
    // Guarded by this. The call and its room are known before the first byte is read.
    private final Queue<Long> complete = new ArrayDeque<>();
    private @Nullable EndableCall<?, ?> call;
    private @Nullable CallMemory room;
    private @Nullable CallTurn turn;
    private boolean single;
    private boolean inGate;
    private boolean listening;
    private boolean over;

    // Of the message that is arriving; of a call with a single one until the client has
    // half-closed.
    private boolean incomplete;
    private long since;
    private long received;
    private long partial;

    // The memory of the objects made of the message that the service gets next.
    private ConcurrencyQuota.Hold parsed = () -> {};

    /**
     * Called when gRPC hands the call to a worker. Before, gRPC may refuse the call by itself or
     * throw, and then reports its end after a delay or never.
     */
    @Override
    public Context filterContext(Context context) {
      synchronized (this) {
        inGate = true;
      }
      gate.begun();
      return context.withValue(INBOUND, this);
    }

    /** Called when a worker starts to handle the call. */
    @Override
    public void serverCallStarted(ServerCallInfo<?, ?> info) {
      leaveGate();
    }

    private void leaveGate() {
      synchronized (this) {
        if (!inGate) {
          return;
        }
        inGate = false;
      }
      gate.seen();
    }

    /** Returns false if the call is over already. */
    synchronized boolean begin(EndableCall<?, ?> begun, CallMemory itsRoom) {
      if (over) {
        return false;
      }
      call = begun;
      room = itsRoom;
      turn = AccountCallExecutor.turn();
      single = begun.getMethodDescriptor().getType().clientSendsOneMessage();
      if (single) {
        startClock();
      } else {
        room.idle(true);
      }
      return true;
    }

    synchronized @Nullable CallTurn turn() {
      return turn;
    }

    /** Forwards events of the call, and its end, to the service. */
    synchronized void listen() {
      listening = !over;
    }

    private synchronized void startClock() {
      if (!incomplete && !over) {
        incomplete = true;
        since = System.nanoTime();
        received = 0;
        arriving.add(this);
        tellIdle(false);
      }
    }

    private synchronized void stopClock() {
      incomplete = false;
      arriving.remove(this);
      tellIdle(true);
    }

    private synchronized void tellIdle(boolean now) {
      if (room != null) {
        room.idle(now);
      }
    }

    @Override
    public void inboundMessage(int sequence) {
      startClock();
    }

    @Override
    public void inboundWireSize(long bytes) {
      boolean tooManyPieces;
      CallMemory mine;
      synchronized (this) {
        received += bytes;
        partial += bytes + CallMemory.PIECE_BYTES;
        tooManyPieces = partial > 2 * received + MAX_PIECES_BYTES;
        mine = room;
      }
      // Not under the lock of this: it may end the calls of others.
      Status full = mine == null ? null : mine.take(bytes + CallMemory.PIECE_BYTES);
      if (tooManyPieces) {
        full = TOO_MANY_PIECES;
      }
      if (full != null) {
        refuse(full);
      }
    }

    @Override
    public synchronized void inboundMessageRead(int sequence, long wireSize, long size) {
      if (turn != null) {
        turn.arrived(partial);
      }
      if (!single) {
        complete.add(partial);
        partial = 0;
        stopClock();
      }
    }

    void parsing(long bytes) {
      ConcurrencyQuota.Hold held = hold(bytes);
      synchronized (this) {
        giveParsed();
        parsed = held;
      }
    }

    /** Reserves memory. Call it without the lock of this object, because it may end other calls. */
    ConcurrencyQuota.Hold hold(long bytes) {
      CallMemory mine;
      synchronized (this) {
        mine = room;
      }
      return mine == null ? () -> {} : mine.work(bytes);
    }

    private synchronized void giveParsed() {
      parsed.close();
      parsed = () -> {};
    }

    /** Gives back a stream's message. That of a unary call counts until it is answered. */
    @Override
    public synchronized void taken() {
      Long bytes = complete.poll();
      if (bytes != null && room != null) {
        room.give(bytes);
        giveParsed();
      }
      if (bytes != null && turn != null) {
        turn.taken(bytes);
      }
    }

    @Override
    public synchronized void answered() {
      if (single && room != null) {
        room.give(partial);
        partial = 0;
        giveParsed();
      }
      if (single && turn != null) {
        turn.answered();
      }
    }

    @Override
    public void complete() {
      CallMemory mine;
      synchronized (this) {
        stopClock();
        mine = room;
        if (single && turn != null) {
          turn.executing();
        }
      }
      if (mine != null && !mine.complete()) {
        // The thread that evicted the call has not reached it yet.
        refuse(CallMemory.NO_ROOM);
      }
    }

    void checkPace(long now) {
      boolean tooSlow;
      synchronized (this) {
        if (turn != null && turn.isWaiting()) {
          since = now;
        }
        tooSlow = incomplete && pace.isTooSlow(now - since, received);
      }
      if (tooSlow) {
        refuse(Status.DEADLINE_EXCEEDED.withDescription(pace.rule()));
      }
    }

    /** Refuses the call. Call it without the lock of this object, because the call has its own. */
    private void refuse(Status why) {
      EndableCall<?, ?> open;
      synchronized (this) {
        open = call;
      }
      if (open != null) {
        open.refuse(why);
      }
    }

    /**
     * The transport has dropped the call. Messages that it has handed over wait for the share of
     * threads of the account, and keep their memory until {@link #over()}.
     */
    @Override
    public void streamClosed(Status status) {
      leaveGate();
      boolean heard;
      CallMemory mine;
      CallTurn waiting;
      synchronized (this) {
        over = true;
        stopClock();
        heard = listening;
        mine = room;
        waiting = turn;
      }
      if (waiting != null && !status.isOk()) {
        waiting.canceled();
      }
      if (!heard) {
        over();
      } else if (mine != null) {
        mine.complete();
      }
    }

    @Override
    public synchronized void over() {
      giveParsed();
      if (room != null) {
        room.close();
      }
      if (turn != null) {
        turn.answered();
      }
    }
  }
}
