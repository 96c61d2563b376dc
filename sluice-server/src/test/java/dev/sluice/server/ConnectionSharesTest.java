package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.transport.ConnectionLimiter;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("any-jdk")
final class ConnectionSharesTest {
  private static final int MAX = 32;
  private static final int WITH_KEYS = 30;

  private final ConnectionLimiter shares = new ConnectionLimiter(MAX);
  private final List<Integer> ended = new ArrayList<>();

  private static SocketAddress client(int number) {
    return InetSocketAddress.createUnresolved("client", number);
  }

  private ConnectionLimiter.Slot open(int number) {
    return shares.open(client(number), () -> ended.add(number));
  }

  private void openWithKey(int number, String account) {
    assertThat(open(number)).isNotNull();
    shares.show(client(number), account);
  }

  @Test
  void newConnection_replacesTheOldestWithoutAKey() {
    openWithKey(1, "good");
    for (int i = 2; i <= MAX + 3; i++) {
      assertThat(open(i)).isNotNull();
    }
    assertThat(ended).containsExactly(2, 3, 4);
    assertThat(shares.open()).isEqualTo(MAX);
  }

  /** A client needs a while to show its key. */
  @Test
  void floodFromOneAddress_leavesConnectionsOfOtherAddresses() {
    SocketAddress good = InetSocketAddress.createUnresolved("good", 1);
    assertThat(shares.open(good, () -> ended.add(0))).isNotNull();
    for (int i = 1; i <= 3 * MAX; i++) {
      assertThat(open(i)).isNotNull();
    }
    assertThat(ended).hasSize(2 * MAX + 1).doesNotContain(0);
    shares.show(good, "good");
    assertThat(shares.open()).isEqualTo(MAX);
  }

  @Test
  void equalAddresses_loseTheOldestConnection() {
    for (int i = 1; i <= MAX + 1; i++) {
      int number = i;
      SocketAddress client = InetSocketAddress.createUnresolved("host-" + i, 1);
      assertThat(shares.open(client, () -> ended.add(number))).isNotNull();
    }
    assertThat(ended).containsExactly(1);
  }

  /** A client may connect from the same port before the server hears that it has left. */
  @Test
  void addressThatComesAgain_hasOnePlace() {
    List<ConnectionLimiter.Slot> former = new ArrayList<>();
    for (int i = 0; i < 2 * MAX; i++) {
      former.add(open(1));
      shares.show(client(1), "evil");
    }
    former.forEach(ConnectionLimiter.Slot::close);
    assertThat(shares.open()).isZero();
    for (int i = 1; i <= WITH_KEYS; i++) {
      openWithKey(i, "good");
    }
    assertThat(ended).isEmpty();
  }

  @Test
  void smallAccount_replacesAConnectionOfTheLargest() {
    for (int i = 1; i <= WITH_KEYS; i++) {
      openWithKey(i, "evil");
    }
    openWithKey(100, "good");
    openWithKey(101, "good");
    assertThat(ended).containsExactly(1, 2);
    openWithKey(102, "evil");
    assertThat(ended).containsExactly(1, 2, 102);
    assertThat(shares.open()).isEqualTo(WITH_KEYS);
  }

  @Test
  void accountsOfEqualSize_keepTheirOpenConnections() {
    for (int i = 1; i <= WITH_KEYS; i++) {
      openWithKey(i, i % 2 == 0 ? "one" : "two");
    }
    openWithKey(100, "one");
    assertThat(ended).containsExactly(100);
  }

  @Test
  void closedConnection_freesItsPlaceOnce() {
    ConnectionLimiter.Slot first = open(1);
    shares.show(client(1), "one");
    first.close();
    first.close();
    openWithKey(1, "two");
    first.close();
    assertThat(shares.open()).isEqualTo(1);
    assertThat(ended).isEmpty();
  }

  @Test
  void fullWithKeys_newConnectionsAreRefused() {
    ConnectionLimiter few = new ConnectionLimiter(2);
    for (int i = 1; i <= 2; i++) {
      assertThat(few.open(client(i), () -> {})).isNotNull();
      few.show(client(i), "one");
    }
    assertThat(few.open(client(3), () -> {})).isNull();
  }
}
