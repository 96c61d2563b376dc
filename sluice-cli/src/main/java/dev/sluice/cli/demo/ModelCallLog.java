package dev.sluice.cli.demo;

import dev.sluice.cli.text.JsonWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * Who asked for a call of the model, and when it was their turn, as the callers saw it: in
 * milliseconds of their clock. For any number of threads.
 */
public final class ModelCallLog {
  // Guarded by this.
  private final List<Call> calls = new ArrayList<>();

  /** Somebody who asked. */
  public static final class Call {
    private final String priority;
    private final long askedMillis;
    private OptionalLong grantedMillis = OptionalLong.empty();

    private Call(String priority, long askedMillis) {
      this.priority = priority;
      this.askedMillis = askedMillis;
    }

    String priority() {
      return priority;
    }
  }

  /**
   * What a class got.
   *
   * @param priority its name
   * @param asked how many asked
   * @param granted of these, whose turn it was
   * @param waits of all: of those still in line, how long they have waited so far
   */
  public record PriorityClassStats(String priority, long asked, long granted, WaitStats waits) {
    public long inLine() {
      return asked - granted;
    }

    JsonWriter json() {
      return JsonWriter.object()
          .put("class", priority)
          .put("asked", asked)
          .put("granted", granted)
          .put("inLine", inLine())
          .put("waitMillis", waits.json());
    }
  }

  public synchronized Call asked(String priority, long nowMillis) {
    Call call = new Call(priority, nowMillis);
    calls.add(call);
    return call;
  }

  public synchronized void granted(Call call, long nowMillis) {
    call.grantedMillis = OptionalLong.of(nowMillis);
  }

  /** When there was a turn, sorted. */
  public synchronized long[] grants() {
    return calls.stream().flatMapToLong(call -> call.grantedMillis.stream()).sorted().toArray();
  }

  public synchronized ModelCallLog.PriorityClassStats of(
      String priority, Downtime outage, long nowMillis) {
    List<Call> mine = calls.stream().filter(call -> call.priority.equals(priority)).toList();
    return new ModelCallLog.PriorityClassStats(
        priority,
        mine.size(),
        mine.stream().filter(call -> call.grantedMillis.isPresent()).count(),
        WaitStats.of(
            mine.stream()
                .mapToLong(
                    call ->
                        outage.waited(call.askedMillis, call.grantedMillis.orElse(nowMillis)))));
  }
}
