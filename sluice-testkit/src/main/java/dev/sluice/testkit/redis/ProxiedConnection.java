package dev.sluice.testkit.redis;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Queue;

/**
 * A client's connection through the proxy and its other half. For one thread, which never waits.
 */
final class ProxiedConnection {
  private static final int CHUNK_BYTES = 64 * 1024;
  private static final int MOST_CHUNKS = 64;

  private final SocketChannel client;
  private final SocketChannel target;
  private final InetSocketAddress address;
  private final Flow toTarget;
  private final Flow toClient;

  /** Bytes and when they came; no bytes stand for the end. */
  private record Chunk(long arrivedNanos, ByteBuffer bytes) {}

  /** Takes over a client that was just accepted; the target is called when bytes may move. */
  ProxiedConnection(SocketChannel client, InetSocketAddress address, Selector selector)
      throws IOException {
    this.client = client;
    this.address = address;
    target = SocketChannel.open();
    for (SocketChannel channel : new SocketChannel[] {client, target}) {
      channel.configureBlocking(false);
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      channel.register(selector, 0);
    }
    toTarget = new Flow(client, target);
    toClient = new Flow(target, client);
  }

  /**
   * Moves the bytes that may move, and registers at the selector for the next event.
   *
   * @return the nanoseconds until more may move by the clock alone
   */
  long move(Selector selector, long now, TcpProxy.Rules rules) throws IOException {
    if (rules.silent()) {
      wish(selector, 0, 0);
      return Long.MAX_VALUE;
    }
    if (!isConnected()) {
      wish(selector, 0, SelectionKey.OP_CONNECT);
      return Long.MAX_VALUE;
    }
    long wait =
        Math.min(
            toTarget.move(now, rules.toTargetNanos()), toClient.move(now, rules.toClientNanos()));
    if (toTarget.finished && toClient.finished) {
      close();
      return Long.MAX_VALUE;
    }
    wish(
        selector,
        toTarget.readWish() | toClient.writeWish(),
        toClient.readWish() | toTarget.writeWish());
    return wait;
  }

  boolean isOpen() {
    return client.isOpen();
  }

  /** Ends both halves by a reset. */
  void reset() throws IOException {
    for (SocketChannel channel : new SocketChannel[] {client, target}) {
      if (channel.isOpen()) {
        channel.setOption(StandardSocketOptions.SO_LINGER, 0);
      }
    }
    close();
  }

  private void close() throws IOException {
    client.close();
    target.close();
  }

  private boolean isConnected() throws IOException {
    if (target.isConnected()) {
      return true;
    }
    return target.isConnectionPending() ? target.finishConnect() : target.connect(address);
  }

  private void wish(Selector selector, int ofClient, int ofTarget) {
    client.keyFor(selector).interestOps(ofClient);
    target.keyFor(selector).interestOps(ofTarget);
  }

  /** One direction. */
  private static final class Flow {
    private final SocketChannel from;
    private final SocketChannel to;
    private final Queue<Chunk> held = new ArrayDeque<>();
    private boolean ended;
    private boolean stuck;
    private boolean finished;

    Flow(SocketChannel from, SocketChannel to) {
      this.from = from;
      this.to = to;
    }

    long move(long now, long delayNanos) throws IOException {
      boolean more = wantsMore();
      while (more) {
        more = read(now) && wantsMore();
      }
      stuck = false;
      for (Chunk next = held.peek(); next != null; next = held.peek()) {
        long wait = delayNanos - (now - next.arrivedNanos());
        if (wait > 0) {
          return wait;
        }
        if (!write(next.bytes())) {
          stuck = true;
          break;
        }
        held.remove();
      }
      return Long.MAX_VALUE;
    }

    int readWish() {
      return wantsMore() ? SelectionKey.OP_READ : 0;
    }

    int writeWish() {
      return stuck ? SelectionKey.OP_WRITE : 0;
    }

    private boolean wantsMore() {
      return !ended && held.size() < MOST_CHUNKS;
    }

    private boolean read(long now) throws IOException {
      ByteBuffer bytes = ByteBuffer.allocate(CHUNK_BYTES);
      int count = from.read(bytes);
      ended = count < 0;
      if (count == 0) {
        return false;
      }
      held.add(new Chunk(now, bytes.flip()));
      return true;
    }

    /** Whether all was written. */
    private boolean write(ByteBuffer bytes) throws IOException {
      if (!bytes.hasRemaining()) {
        to.shutdownOutput();
        finished = true;
        return true;
      }
      to.write(bytes);
      return !bytes.hasRemaining();
    }
  }
}
