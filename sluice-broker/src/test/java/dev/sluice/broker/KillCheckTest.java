package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.KillCheck.Fault;
import dev.sluice.broker.internal.store.MessageId;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.assertj.core.api.ListAssert;
import org.junit.jupiter.api.Test;

/** The checks of {@link KillCheck} notice what they are for. */
final class KillCheckTest {
  private static final long SECOND = 1_000_000_000;

  private final List<String[]> lines = new ArrayList<>();

  private static UUID id(long sequence) {
    return MessageId.of(1, sequence);
  }

  private void line(String line) {
    lines.add(line.split(" ", -1));
  }

  private void sent(long number) {
    line("send " + number + " a 0");
    line("sent " + number + " " + id(number));
  }

  private void got(long number, String token, int attempts, long second) {
    got(number, token, attempts, second * SECOND, "k/");
  }

  private void got(long number, String token, int attempts, long nanos, String group) {
    String ids = id(number) + " " + id(number);
    got("a " + group, number, token, attempts, nanos, ids);
  }

  /** {@code where} is queue and group, {@code ids} the id of the message and its place. */
  private void got(String where, long number, String token, int attempts, long nanos, String ids) {
    String[] each = ids.split(" ", -1);
    line(
        "got %d %s %s %s %d %d %s"
            .formatted(number, where, each[0], token, attempts, nanos, each[1]));
  }

  /** A message that was redriven, or is a dead letter. */
  private void gotMoved(String queue, long number, String token, int attempts, long second) {
    UUID place = MessageId.of(queue.equals("a") ? 1 : 2, 1_000 + number);
    got(queue + " k/", number, token, attempts, second * SECOND, id(number) + " " + place);
  }

  private void acked(String token) {
    line("try ack " + token + " 0");
    line("done ack " + token + " 0");
  }

  private ListAssert<String> violations(Fault fault) {
    return assertThat(KillCheck.violations(KillHistory.of(lines), fault));
  }

  private void violated(String by) {
    violations(Fault.KILL).singleElement().asString().startsWith(by);
  }

  @Test
  void validHistory_hasNoViolation() {
    sent(1);
    sent(2);
    got(1, "1:1", 0, 10);
    got(2, "1:2", 0, 10);
    acked("1:2");
    line("open");
    got(1, "2:1", 1, 11);
    acked("2:1");
    line("drained");
    violations(Fault.KILL).isEmpty();
  }

  @Test
  void confirmedButUndeliveredMessage_isReportedAsLost() {
    sent(1);
    line("drained");
    violated("lost");
  }

  @Test
  void messageWithAnUnansweredAck_mayBeRemoved_unlessItWasRedelivered() {
    sent(1);
    got(1, "1:1", 0, 10);
    line("try ack 1:1 0");
    line("drained");
    violations(Fault.KILL).isEmpty();
    got(1, "1:2", 1, 20);
    violated("lost");
  }

  @Test
  void deliveryAfterAConfirmedAck_isDetected() {
    sent(1);
    got(1, "1:1", 0, 10);
    acked("1:1");
    got(1, "1:2", 0, 20);
    violated("delivered after its ack");
  }

  @Test
  void phantomRefusedAndDuplicateMessages_areDetected() {
    got(7, "1:1", 0, 10);
    violated("phantom");
    lines.clear();
    line("send 1 a 0");
    line("refused 1");
    got(1, "1:1", 0, 10);
    violated("refused and delivered");
    lines.clear();
    sent(1);
    line("sent 1 " + id(2));
    violated("stored twice");
    lines.clear();
    sent(1);
    line("send 2 a 0");
    line("sent 2 " + id(1));
    violated("one id of two messages");
  }

  @Test
  void movedMessageWithAnotherId_isDetected() {
    sent(1);
    got(1, "1:1", 0, 10);
    got("a.dlq k/", 1, "1:2", 1, 12 * SECOND, id(2) + " " + id(2));
    violated("two ids of one message");
    lines.clear();
    sent(1);
    got(1, "1:1", 2, 10);
    gotMoved("a.dlq", 1, "1:2", 3, 12);
    line("try release 1:2 0");
    gotMoved("a", 1, "1:3", 0, 13);
    acked("1:3");
    line("drained");
    violations(Fault.KILL).isEmpty();
  }

  @Test
  void deadLetterLeasedWithItsMessage_isDetected() {
    sent(1);
    got(1, "1:1", 2, 10);
    gotMoved("a.dlq", 1, "1:2", 3, 10);
    violated("two leases at once");
  }

  @Test
  void order_isChecked_forFirstDeliveries() {
    sent(1);
    sent(2);
    got(2, "1:1", 0, 10);
    got(1, "1:2", 0, 10);
    violated("out of order");
    line("close a");
    violations(Fault.KILL).isEmpty();
    lines.clear();
    sent(1);
    sent(2);
    got(2, "1:1", 0, 10);
    got(1, "1:2", 1, 10);
    violations(Fault.KILL).isEmpty();
    lines.clear();
    line("send 1 a 0");
    line("send 2 a 0");
    line("sent 2 " + id(1));
    line("sent 1 " + id(2));
    violated("stored in another order than sent");
  }

  @Test
  void decreasingAttemptsAndForgottenFailures_areDetected() {
    sent(1);
    got(1, "1:1", 2, 10);
    line("try release 1:1 0");
    got(1, "1:2", 1, 10);
    violated("attempts");
    lines.clear();
    sent(1);
    got(1, "1:1", 0, 10);
    line("try nack 1:1 0");
    line("done nack 1:1 0");
    got(1, "1:2", 0, 10);
    violations(Fault.POWER).singleElement().asString().startsWith("attempts");
  }

  @Test
  void concurrentLeases_areDetected() {
    sent(1);
    got(1, "1:1", 0, 10 * SECOND, "k/");
    line("open");
    got(1, "2:1", 1, 10 * SECOND + SECOND / 2, "k/");
    violated("two leases at once");
    violations(Fault.POWER).isEmpty();
    lines.clear();
    sent(1);
    got(1, "1:1", 0, 10);
    line("try extend 1:1 " + 10 * SECOND + " " + 3 * SECOND);
    line("done extend 1:1 " + 10 * SECOND);
    got(1, "1:2", 1, 12);
    violated("two leases at once");
    lines.clear();
    sent(1);
    got(1, "1:1", 0, 10);
    got(1, "1:1", 0, 10);
    violations(Fault.KILL).first().asString().startsWith("token twice");
  }

  @Test
  void forgottenLease_isDetected() {
    sent(1);
    got(1, "1:1", 0, 10);
    line("open");
    line("try ack 1:1 " + 10 * SECOND);
    line("late ack 1:1 " + 10 * SECOND);
    violated("refused in time");
    violations(Fault.POWER).isEmpty();
  }

  @Test
  void freshBurstAfterARestart_isDetected() {
    int burst = (int) KillLoad.RATES.get("t3").burst();
    for (int i = 1; i <= 2 * burst; i++) {
      if (i == burst + 1) {
        violations(Fault.KILL).isEmpty();
        line("open");
      }
      sent(i);
      got(i, (i <= burst ? "1:" : "2:") + i, 0, 10 * SECOND, "k/t3");
    }
    violations(Fault.KILL).hasSize(burst).allMatch(word -> word.startsWith("rate of t3"));
  }

  @Test
  void releasedLease_doesNotCountAgainstTheRate_unlessTheReleaseCameTooLate() {
    int burst = (int) KillLoad.RATES.get("t3").burst();
    for (int i = 1; i <= burst + 1; i++) {
      sent(i);
      got(i, "1:" + i, 0, 10 * SECOND, "k/t3");
    }
    violated("rate of t3");
    line("try release 1:1 " + 10 * SECOND);
    violations(Fault.KILL).isEmpty();
    line("late release 1:1 " + 12 * SECOND);
    violated("rate of t3");
  }

  @Test
  void errorLineOfTheProcess_isDetected() {
    line("broken enqueue java.lang.IllegalStateException");
    violated("broken enqueue");
  }
}
