package dev.sluice.cli.demo;

import dev.sluice.cli.text.JsonWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * The calls of the model with the times of their requests and grants, in milliseconds of the
 * callers' clock. Thread-safe.
 */
public final class ModelCallLog {
  // Guarded by this.
  private final List<Call> calls = new ArrayList<>();

  /** A call of the model. */
  public static final class Call {
    private final String priority;
    private final long requestedMillis;
    private OptionalLong grantedMillis = OptionalLong.empty();

    private Call(String priority, long requestedMillis) {
      this.priority = priority;
      this.requestedMillis = requestedMillis;
    }

    String priority() {
      return priority;
    }
  }

  /**
   * Results of a priority class.
   *
   * @param priority the class's name
   * @param requested requests
   * @param granted granted requests
   * @param waits waits of all requests; until now for those that still wait
   */
  public record PriorityClassStats(String priority, long requested, long granted, WaitStats waits) {
    public long waiting() {
      return requested - granted;
    }

    JsonWriter json() {
      return JsonWriter.object()
          .put("class", priority)
          .put("requested", requested)
          .put("granted", granted)
          .put("waiting", waiting())
          .put("waitMillis", waits.json());
    }
  }

  public synchronized Call requested(String priority, long nowMillis) {
    Call call = new Call(priority, nowMillis);
    calls.add(call);
    return call;
  }

  public synchronized void granted(Call call, long nowMillis) {
    call.grantedMillis = OptionalLong.of(nowMillis);
  }

  /** Returns the times of all grants, sorted. */
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
                        outage.waited(
                            call.requestedMillis, call.grantedMillis.orElse(nowMillis)))));
  }
}
