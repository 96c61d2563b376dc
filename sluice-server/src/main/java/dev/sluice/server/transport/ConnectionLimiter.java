package dev.sluice.server.transport;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/*
 * A limit that only refuses new connections favors the first clients: one without a key that opens
 * as many as the limit allows keeps all others out. So when all places are taken,
 *
 *  - a new connection takes the place of one on which no valid key has been shown: the oldest of the
 *    address that has most of these, so that a flood from one address leaves others the time to
 *    show their keys,
 *  - a connection that shows a key takes the place of one of the account that has most, if its own
 *    account has fewer; else it is closed itself, so that connections in use go on.
 *
 * Connections with keys have all places but one in RESERVE, where new ones can show theirs.
 */

/**
 * Limits open connections, and decides which of them give way to others. Thread-safe; no foreign
 * code runs under the lock.
 */
public final class ConnectionLimiter {
  private static final int RESERVE = 16;
  private static final Comparator<Set<ConnectionLimiter.Slot>> BY_SIZE =
      Comparator.comparingInt(Set::size);

  private final int max;
  private final int maxKnown;

  /** Changed under the lock, read without. */
  private final Map<SocketAddress, ConnectionLimiter.Slot> places = new ConcurrentHashMap<>();

  // Guarded by this; all are in the order in which connections came. Strangers are by address.
  private final Map<Object, Set<ConnectionLimiter.Slot>> strangers = new LinkedHashMap<>();
  private final Map<Object, Set<ConnectionLimiter.Slot>> accounts = new HashMap<>();
  private int known;

  public ConnectionLimiter(int max) {
    this.max = max;
    this.maxKnown = max - max / RESERVE;
  }

  /** The place of one connection. */
  public final class Slot {
    private final SocketAddress client;
    private final Runnable end;
    private volatile @Nullable Object account;

    private Slot(SocketAddress client, Runnable end) {
      this.client = client;
      this.end = end;
    }

    private Object host() {
      return client instanceof InetSocketAddress internet ? internet.getHostString() : client;
    }

    /** The connection is closed. Does nothing if it has lost its place before. */
    public void close() {
      remove(this);
    }
  }

  public int open() {
    return places.size();
  }

  /**
   * Counts a new connection, and may end another one for it. Returns null if there is no place.
   *
   * @param end closes the connection; runs at most once, on any thread, and must not block
   */
  public ConnectionLimiter.@Nullable Slot open(SocketAddress client, Runnable end) {
    ConnectionLimiter.Slot place = new ConnectionLimiter.Slot(client, end);
    ConnectionLimiter.Slot evicted = null;
    synchronized (this) {
      forget(places.get(client));
      if (places.size() >= max) {
        evicted = oldestOfLargest(strangers);
        if (evicted == null) {
          return null;
        }
        remove(evicted);
      }
      places.put(client, place);
      add(strangers, place.host(), place);
    }
    if (evicted != null) {
      evicted.end.run();
    }
    return place;
  }

  /** A client comes again from an address before it is known that its last connection is closed. */
  private void forget(ConnectionLimiter.@Nullable Slot former) {
    if (former != null) {
      remove(former);
    }
  }

  /** The client has shown a valid key of {@code account}; the first one counts. */
  public void show(SocketAddress client, Object account) {
    ConnectionLimiter.Slot place = places.get(client);
    if (place != null && place.account == null) {
      ConnectionLimiter.Slot evicted = show(place, account);
      if (evicted != null) {
        evicted.end.run();
      }
    }
  }

  private synchronized ConnectionLimiter.@Nullable Slot show(
      ConnectionLimiter.Slot place, Object account) {
    if (!remove(strangers, place.host(), place)) {
      return null;
    }
    place.account = account;
    Set<ConnectionLimiter.Slot> mine = add(accounts, account, place);
    known++;
    if (known <= maxKnown) {
      return null;
    }
    Set<ConnectionLimiter.Slot> largest = accounts.values().stream().max(BY_SIZE).orElse(mine);
    ConnectionLimiter.Slot evicted =
        largest.size() > mine.size() ? largest.iterator().next() : place;
    remove(evicted);
    return evicted;
  }

  private static ConnectionLimiter.@Nullable Slot oldestOfLargest(
      Map<Object, Set<ConnectionLimiter.Slot>> groups) {
    return groups.values().stream().max(BY_SIZE).map(all -> all.iterator().next()).orElse(null);
  }

  private static Set<ConnectionLimiter.Slot> add(
      Map<Object, Set<ConnectionLimiter.Slot>> groups, Object group, ConnectionLimiter.Slot place) {
    Set<ConnectionLimiter.Slot> all = groups.computeIfAbsent(group, same -> new LinkedHashSet<>());
    all.add(place);
    return all;
  }

  /** Returns whether the place was there. */
  private static boolean remove(
      Map<Object, Set<ConnectionLimiter.Slot>> groups, Object group, ConnectionLimiter.Slot place) {
    Set<ConnectionLimiter.Slot> all = groups.getOrDefault(group, Set.of());
    boolean removed = all.contains(place) && all.remove(place);
    if (removed && all.isEmpty()) {
      groups.remove(group);
    }
    return removed;
  }

  private synchronized void remove(ConnectionLimiter.Slot place) {
    if (!places.remove(place.client, place)) {
      return;
    }
    remove(strangers, place.host(), place);
    Object account = place.account;
    if (account != null && remove(accounts, account, place)) {
      known--;
    }
  }
}
