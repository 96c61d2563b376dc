package dev.sluice.server;

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
 * A call that is cancelled keeps its memory until the service has heard of it, because its messages
 * may be waiting for a thread.
 *
 * gRPC reads no byte of a call before the service asks for it, which is after the caller's key was
 * checked: calls without a valid key take nothing.
 */

/**
 * Bounds the gRPC requests that are being received: their bytes by {@link InboundBudget}, their
 * time by {@link RequestPace}. A request beyond either is refused and not executed.
 */
final class InboundCalls extends ServerStreamTracer.Factory {
  /** The largest request of a caller who needs no key. */
  static final int MAX_STRANGER_BYTES = 1_024;

  /** The cost of an open call besides its request: its stream and its headers. */
  private static final long CALL_BYTES = 4 << 10;

  /** The overhead of each piece in which gRPC buffers an arriving message. */
  private static final long PIECE_BYTES = 256;

  /** The overhead that a message may have beyond its own size: that of 1,000 pieces. */
  private static final long MAX_PIECES_BYTES = 1_000 * PIECE_BYTES;

  private static final Status TOO_MANY_PIECES =
      Status.RESOURCE_EXHAUSTED.withDescription(
          "a large request must come in pieces of %d bytes or more on average"
              .formatted(PIECE_BYTES));

  private static final Status NO_ROOM = ByteBudget.exhausted("requests").toStatus().getStatus();

  private static final Context.Key<Inbound> INBOUND = Context.key("inbound bytes");

  private final ServerMemory memory;
  private final RequestPace pace;
  private final CallGate gate;
  private final Set<Inbound> arriving = ConcurrentHashMap.newKeySet();

  InboundCalls(ServerMemory memory, RequestPace pace, CallGate gate) {
    this.memory = memory;
    this.pace = pace;
    this.gate = gate;
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String fullMethodName, Metadata headers) {
    gate.begun();
    return new Inbound();
  }

  /** Returns an interceptor that budgets authenticated calls; it runs after {@link Access}. */
  ServerInterceptor ofCallers() {
    return new ServerInterceptor() {
      @Override
      public <Q, A> ServerCall.Listener<Q> interceptCall(
          ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        Object connection = connectionOf(call);
        Object account = Access.key().account();
        Room room =
            new Budgeted(
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
        return begin(new Small(), call, headers, next);
      }
    };
  }

  /** Returns an object that identifies the connection of a call. */
  static SocketAddress connectionOf(ServerCall<?, ?> call) {
    return Objects.requireNonNull(call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
  }

  private <Q, A> ServerCall.Listener<Q> begin(
      Room room, ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Inbound inbound = INBOUND.get();
    InboundCall<Q, A> refusable = new InboundCall<>(call);
    Status full = room.open(() -> refusable.refuse(NO_ROOM));
    if (full != null || !inbound.begin(refusable, room)) {
      room.close();
      refusable.refuse(full == null ? Status.CANCELLED : full);
      return new ServerCall.Listener<>() {};
    }
    ServerCall.Listener<Q> service = next.startCall(refusable, headers);
    inbound.listen();
    return refusable.listener(service, inbound);
  }

  /**
   * Gives back the memory of the unary request that is being handled. To be called when the service
   * has begun an operation that keeps nothing of the request, or accounts for what it keeps.
   */
  static void parsed() {
    Inbound inbound = INBOUND.get();
    if (inbound != null) {
      inbound.answered();
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
  static Share.Hold hold(long bytes) {
    Inbound inbound = INBOUND.get();
    return inbound == null ? () -> {} : inbound.hold(bytes);
  }

  /** Refuses requests that arrive too slowly; to be called about once a second. */
  void checkPace() {
    long now = System.nanoTime();
    arriving.forEach(each -> each.checkPace(now));
  }

  /** Where the bytes of one call are counted. */
  private interface Room {
    /**
     * Returns why there is no room for one more call; null if there is.
     *
     * @param evict ends the call when it has to make room for others
     */
    @Nullable Status open(Runnable evict);

    /** Returns why there is no room for {@code bytes} more; null if there is. */
    @Nullable Status take(long bytes);

    void give(long bytes);

    /** Takes memory for what is made of the request; throws if there is none. */
    Share.Hold work(long bytes);

    /** Sets whether nothing of the request is arriving now. */
    void idle(boolean now);

    /** All of the request has arrived. */
    void complete();

    void close();
  }

  private record Budgeted(InboundBudget.Part part, InboundBudget.Part work) implements Room {
    @Override
    public @Nullable Status open(Runnable evict) {
      part.evictBy(evict);
      return take(CALL_BYTES);
    }

    @Override
    public @Nullable Status take(long bytes) {
      return part.take(bytes) ? null : NO_ROOM;
    }

    @Override
    public void give(long bytes) {
      part.give(bytes);
    }

    @Override
    public void idle(boolean now) {
      part.idle(now);
    }

    @Override
    public void complete() {
      part.complete();
    }

    @Override
    public Share.Hold work(long bytes) {
      return work.hold(bytes);
    }

    @Override
    public void close() {
      part.close();
      work.close();
    }
  }

  /** Bounds one small request by itself. Used by the connection's thread alone. */
  private static final class Small implements Room {
    private long taken;

    @Override
    public @Nullable Status open(Runnable evict) {
      return null;
    }

    @Override
    public @Nullable Status take(long bytes) {
      taken += bytes - PIECE_BYTES;
      return taken <= MAX_STRANGER_BYTES
          ? null
          : Status.RESOURCE_EXHAUSTED.withDescription(
              "a request without a key must have at most %d bytes".formatted(MAX_STRANGER_BYTES));
    }

    @Override
    public void give(long bytes) {}

    /** A small request makes small objects. */
    @Override
    public Share.Hold work(long bytes) {
      return () -> {};
    }

    @Override
    public void idle(boolean now) {}

    @Override
    public void complete() {}

    @Override
    public void close() {}
  }

  /** The bytes that one call has sent and the server still holds. */
  private final class Inbound extends ServerStreamTracer implements InboundCall.Observer {
    // Guarded by this. The call and its room are known before the first byte is read.
    private final Queue<Long> complete = new ArrayDeque<>();
    private @Nullable InboundCall<?, ?> call;
    private @Nullable Room room;
    private boolean single;
    private boolean seen;
    private boolean listening;
    private boolean over;

    // Of the message that is arriving; of a call with a single one until the client has
    // half-closed.
    private boolean incomplete;
    private long since;
    private long received;
    private long partial;

    // What is made of the message that the service gets next.
    private Share.Hold parsed = () -> {};

    @Override
    public Context filterContext(Context context) {
      return context.withValue(INBOUND, this);
    }

    /** Called when a worker starts to handle the call. */
    @Override
    public void serverCallStarted(ServerCallInfo<?, ?> info) {
      leaveGate();
    }

    private void leaveGate() {
      synchronized (this) {
        if (seen) {
          return;
        }
        seen = true;
      }
      gate.seen();
    }

    /** Returns false if the call is over already. */
    synchronized boolean begin(InboundCall<?, ?> begun, Room itsRoom) {
      if (over) {
        return false;
      }
      call = begun;
      room = itsRoom;
      single = begun.getMethodDescriptor().getType().clientSendsOneMessage();
      if (single) {
        startClock();
      } else {
        room.idle(true);
      }
      return true;
    }

    /** The service hears of what happens to the call, and of its end. */
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
      Room mine;
      synchronized (this) {
        received += bytes;
        partial += bytes + PIECE_BYTES;
        tooManyPieces = partial > 2 * received + MAX_PIECES_BYTES;
        mine = room;
      }
      // Not under the lock of this: it may end the calls of others.
      Status full = mine == null ? null : mine.take(bytes + PIECE_BYTES);
      if (tooManyPieces) {
        full = TOO_MANY_PIECES;
      }
      if (full != null) {
        refuse(full);
      }
    }

    @Override
    public synchronized void inboundMessageRead(int sequence, long wireSize, long size) {
      if (!single) {
        complete.add(partial);
        partial = 0;
        stopClock();
      }
    }

    void parsing(long bytes) {
      Share.Hold held = hold(bytes);
      synchronized (this) {
        giveParsed();
        parsed = held;
      }
    }

    /** Not under the lock of this: it may end the calls of others. */
    Share.Hold hold(long bytes) {
      Room mine;
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
    }

    @Override
    public synchronized void answered() {
      if (single && room != null) {
        room.give(partial);
        partial = 0;
        giveParsed();
      }
    }

    @Override
    public void complete() {
      Room mine;
      synchronized (this) {
        stopClock();
        mine = room;
      }
      if (mine != null) {
        mine.complete();
      }
    }

    void checkPace(long now) {
      boolean tooSlow;
      synchronized (this) {
        tooSlow = incomplete && pace.isTooSlow(now - since, received);
      }
      if (tooSlow) {
        refuse(Status.DEADLINE_EXCEEDED.withDescription(pace.rule()));
      }
    }

    /** Not under the lock of this: the call has one of its own. */
    private void refuse(Status why) {
      InboundCall<?, ?> open;
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
      Room mine;
      synchronized (this) {
        over = true;
        stopClock();
        heard = listening;
        mine = room;
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
    }
  }
}
