package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.transport.RequestTurns;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Large requests of one account take turns; small ones and those of other accounts do not wait. */
@Tag("any-jdk")
final class RequestTurnsTest {
  private static final long LARGE = RequestTurns.BYTES_AT_ONCE + 1;
  private static final long HALF = RequestTurns.BYTES_AT_ONCE / 2;

  private final RequestTurns turns = new RequestTurns();
  private final List<String> begun = new ArrayList<>();

  private RequestTurns.Turn begin(String account, String name, long bytes) {
    RequestTurns.Turn turn = turns.of(account);
    if (turn.begin(bytes, () -> begun.add(name))) {
      begun.add(name);
    }
    return turn;
  }

  @Test
  void largeRequestsOfOneAccount_areOneAtATimeInOrder() {
    RequestTurns.Turn first = begin("evil", "a", LARGE);
    RequestTurns.Turn second = begin("evil", "b", LARGE);
    begin("evil", "c", LARGE);
    assertThat(begun).containsExactly("a");
    assertThat(second.isWaiting()).isTrue();
    first.end();
    assertThat(begun).containsExactly("a", "b");
    assertThat(second.isWaiting()).isFalse();
    second.end();
    assertThat(begun).containsExactly("a", "b", "c");
  }

  @Test
  void otherAccountsAndSmallRequests_overtake() {
    begin("evil", "a", LARGE);
    begin("evil", "b", LARGE);
    begin("good", "other", LARGE);
    begin("evil", "small", RequestTurns.FREE_BYTES);
    assertThat(begun).containsExactly("a", "other", "small");
  }

  @Test
  void smallerRequests_shareTheBytesOfATurn() {
    RequestTurns.Turn first = begin("evil", "a", HALF);
    begin("evil", "b", HALF);
    begin("evil", "c", RequestTurns.FREE_BYTES + 1);
    assertThat(begun).containsExactly("a", "b");
    first.end();
    assertThat(begun).containsExactly("a", "b", "c");
  }

  /** A request that would fit waits behind a larger one, which would never begin otherwise. */
  @Test
  void requests_doNotOvertakeTheFirstThatWaits() {
    RequestTurns.Turn first = begin("evil", "a", HALF);
    RequestTurns.Turn large = begin("evil", "large", LARGE);
    begin("evil", "c", HALF);
    begin("evil", "d", HALF);
    assertThat(begun).containsExactly("a");
    first.end();
    assertThat(begun).containsExactly("a", "large");
    large.end();
    assertThat(begun).containsExactly("a", "large", "c", "d");
  }

  @Test
  void abandonedRequest_goesOnAtOnceAndLeavesNoTrace() {
    RequestTurns.Turn first = begin("evil", "a", LARGE);
    RequestTurns.Turn second = begin("evil", "b", LARGE);
    RequestTurns.Turn third = begin("evil", "c", LARGE);
    second.abandon();
    second.abandon();
    assertThat(begun).containsExactly("a", "b");
    assertThat(second.begin(LARGE, () -> begun.add("again"))).isTrue();
    second.end();
    assertThat(third.isWaiting()).isTrue();
    first.end();
    third.end();
    assertThat(begun).containsExactly("a", "b", "c");
    assertThat(turns.accounts()).isZero();
  }

  @Test
  void abandonedFirstOfTheLine_letsThoseBehindItBegin() {
    RequestTurns.Turn first = begin("evil", "a", HALF);
    RequestTurns.Turn large = begin("evil", "large", LARGE);
    RequestTurns.Turn third = begin("evil", "c", HALF);
    large.abandon();
    assertThat(begun).containsExactly("a", "large", "c");
    first.end();
    third.end();
    assertThat(turns.accounts()).isZero();
  }

  @Test
  void turnThatIsAbandonedAfterItsBegin_goesOnUntilItsEnd() {
    RequestTurns.Turn first = begin("evil", "a", LARGE);
    begin("evil", "b", LARGE);
    first.abandon();
    assertThat(begun).containsExactly("a");
    first.end();
    first.end();
    assertThat(begun).containsExactly("a", "b");
  }

  @Test
  void closedTurn_doesNotBeginAnyMore() {
    RequestTurns.Turn first = begin("evil", "a", LARGE);
    RequestTurns.Turn second = begin("evil", "b", LARGE);
    RequestTurns.Turn third = begin("evil", "c", LARGE);
    second.close();
    assertThat(begun).containsExactly("a", "b");
    assertThat(third.isWaiting()).isTrue();
    first.close();
    assertThat(begun).containsExactly("a", "b", "c");
    third.close();
    assertThat(turns.accounts()).isZero();
  }

  /** As messages of a stream, and a unary request whose end comes later. */
  @Test
  void turn_mayBeginAgain() {
    RequestTurns.Turn stream = begin("evil", "a", LARGE);
    assertThat(stream.begin(LARGE, () -> begun.add("never"))).isTrue();
    RequestTurns.Turn other = begin("evil", "b", LARGE);
    stream.end();
    assertThat(stream.begin(LARGE, () -> begun.add("a again"))).isFalse();
    other.end();
    assertThat(begun).containsExactly("a", "b", "a again");
    stream.end();
    assertThat(turns.accounts()).isZero();
  }
}
