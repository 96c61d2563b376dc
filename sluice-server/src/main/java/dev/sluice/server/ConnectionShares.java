package dev.sluice.server;

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
 * A limit that only refuses new connections belongs to the first to come: a stranger that opens as
 * many as there may be keeps everybody else out. So when all places are taken,
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
final class ConnectionShares {
  private static final int RESERVE = 16;
  private static final Comparator<Set<Place>> BY_SIZE = Comparator.comparingInt(Set::size);

  private final int max;
  private final int maxKnown;

  /** Changed under the lock, read without. */
  private final Map<SocketAddress, Place> places = new ConcurrentHashMap<>();

  // Guarded by this; all are in the order in which connections came. Strangers are by address.
  private final Map<Object, Set<Place>> strangers = new LinkedHashMap<>();
  private final Map<Object, Set<Place>> accounts = new HashMap<>();
  private int known;

  ConnectionShares(int max) {
    this.max = max;
    this.maxKnown = max - max / RESERVE;
  }

  /** The place of one connection. */
  final class Place {
    private final SocketAddress client;
    private final Runnable end;
    private volatile @Nullable Object account;

    private Place(SocketAddress client, Runnable end) {
      this.client = client;
      this.end = end;
    }

    private Object host() {
      return client instanceof InetSocketAddress internet ? internet.getHostString() : client;
    }

    /** The connection is closed. Does nothing if it has lost its place before. */
    void close() {
      remove(this);
    }
  }

  int open() {
    return places.size();
  }

  /**
   * Counts a new connection, and may end another one for it. Returns null if there is no place.
   *
   * @param end closes the connection; runs at most once, on any thread, and must not block
   */
  @Nullable Place open(SocketAddress client, Runnable end) {
    Place place = new Place(client, end);
    Place evicted = null;
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
  private void forget(@Nullable Place former) {
    if (former != null) {
      remove(former);
    }
  }

  /** The client has shown a valid key of {@code account}; the first one counts. */
  void show(SocketAddress client, Object account) {
    Place place = places.get(client);
    if (place != null && place.account == null) {
      Place evicted = show(place, account);
      if (evicted != null) {
        evicted.end.run();
      }
    }
  }

  private synchronized @Nullable Place show(Place place, Object account) {
    if (!remove(strangers, place.host(), place)) {
      return null;
    }
    place.account = account;
    Set<Place> mine = add(accounts, account, place);
    known++;
    if (known <= maxKnown) {
      return null;
    }
    Set<Place> largest = accounts.values().stream().max(BY_SIZE).orElse(mine);
    Place evicted = largest.size() > mine.size() ? largest.iterator().next() : place;
    remove(evicted);
    return evicted;
  }

  private static @Nullable Place oldestOfLargest(Map<Object, Set<Place>> groups) {
    return groups.values().stream().max(BY_SIZE).map(all -> all.iterator().next()).orElse(null);
  }

  private static Set<Place> add(Map<Object, Set<Place>> groups, Object group, Place place) {
    Set<Place> all = groups.computeIfAbsent(group, same -> new LinkedHashSet<>());
    all.add(place);
    return all;
  }

  /** Returns whether the place was there. */
  private static boolean remove(Map<Object, Set<Place>> groups, Object group, Place place) {
    Set<Place> all = groups.getOrDefault(group, Set.of());
    boolean removed = all.contains(place) && all.remove(place);
    if (removed && all.isEmpty()) {
      groups.remove(group);
    }
    return removed;
  }

  private synchronized void remove(Place place) {
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
