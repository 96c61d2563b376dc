package dev.sluice.server.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.transport.RequestTurns;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The turns of runs that overlap, and of calls that have ended. */
final class CallTurnTest {
  private static final String OWNER = "tenant";
  private static final long LARGE = RequestTurns.BYTES_AT_ONCE;

  private final RequestTurns turns = new RequestTurns();
  private final RevocationWatcher keys =
      new RevocationWatcher(authorization -> Caller.ANYBODY, InstantSource.system());
  private final List<String> later = new ArrayList<>();
  private final CallTurn call = call();

  private CallTurn call() {
    return new CallTurn(turns.of(OWNER), keys.authenticate(null, "connection"));
  }

  private boolean mayRun(CallTurn one, String name) {
    return one.mayRun(() -> later.add(name));
  }

  /** A thread has left the run of a message, and another runs the end of the request already. */
  @Test
  void turnOfARequestThatIsExecuted_outlivesTheRunBefore() {
    call.arrived(LARGE);
    assertThat(mayRun(call, "message")).isTrue();
    assertThat(mayRun(call, "end")).isTrue();
    call.ran();
    assertThat(turns.accounts()).isOne();
    call.executing();
    call.ran();
    assertThat(turns.accounts()).isOne();
    call.answered();
    assertThat(turns.accounts()).isZero();
  }

  @Test
  void runWithoutALargeMessage_doesNotWait() {
    CallTurn other = call();
    other.arrived(LARGE);
    assertThat(mayRun(other, "other")).isTrue();
    call.arrived(RequestTurns.FREE_BYTES);
    assertThat(mayRun(call, "small")).isTrue();
    call.ran();
    call.taken(RequestTurns.FREE_BYTES);
    call.arrived(LARGE);
    assertThat(mayRun(call, "large")).isFalse();
    assertThat(call.isWaiting()).isTrue();
    other.ran();
    assertThat(later).containsExactly("large");
    assertThat(mayRun(call, "large")).isTrue();
    call.taken(LARGE);
    call.ran();
    assertThat(turns.accounts()).isZero();
    assertThat(keys.count()).isZero();
  }

  @Test
  void canceledCallThatWaits_runsAtOnceAndIsNotParsed() {
    CallTurn other = call();
    other.arrived(LARGE);
    assertThat(mayRun(other, "other")).isTrue();
    call.arrived(LARGE);
    assertThat(mayRun(call, "canceled")).isFalse();
    assertThatCode(call::requireWanted).doesNotThrowAnyException();
    call.canceled();
    assertThat(later).containsExactly("canceled");
    assertThat(mayRun(call, "again")).isTrue();
    assertThatThrownBy(call::requireWanted).isInstanceOf(ApiException.class);
    call.ran();
    call.answered();
    assertThat(keys.count()).isZero();
    other.ran();
    assertThat(turns.accounts()).isZero();
  }
}
