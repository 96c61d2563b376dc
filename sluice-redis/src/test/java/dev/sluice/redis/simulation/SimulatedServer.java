package dev.sluice.redis.simulation;

import io.lettuce.core.RedisCommandExecutionException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Redis as the nodes meet it: it may stand still, with requests waiting in its sockets, or be
 * killed, and come back with all, older or no data. Scripts run in the real server.
 */
public final class SimulatedServer {
  /** The time of Redis when a simulation starts: not at a boundary of any period. */
  private static final long START_MICROS = 1_750_000_000_123_457L;

  private static final long NANOS_PER_MICRO = 1_000;

  private final Scheduler scheduler;
  private final RedisScripts scripts;
  private final Random random;
  private final Observer observer;
  private final List<Request> waiting = new ArrayList<>();
  private final List<Subscription> subscriptions = new ArrayList<>();
  private int stops;
  private boolean down;
  private int life;
  private int lines;

  /** By how much its clock is off, from real times on. */
  private final TreeMap<Long, Long> offsets = new TreeMap<>(Map.of(0L, 0L));

  /** One connection that is told of messages. */
  interface Subscription {
    /** Returns whether the server counts it. */
    boolean isOpen();

    void send(String channel, String message);
  }

  void add(Subscription subscription) {
    subscriptions.add(subscription);
  }

  /** Sees what runs in Redis. */
  public interface Observer {
    /** A script has run, and failed or not; whoever sent it does not know yet. */
    void ran(Request request, @Nullable List<Object> answer, @Nullable Throwable failure);
  }

  SimulatedServer(Scheduler scheduler, RedisScripts scripts, Random random, Observer observer) {
    this.scheduler = scheduler;
    this.scripts = scripts;
    this.random = random;
    this.observer = observer;
    scripts.clear();
  }

  /** Returns the time of Redis. */
  public long micros() {
    return microsAt(scheduler.nanos());
  }

  /** Returns the time that Redis had at a real time. */
  long microsAt(long nanos) {
    return START_MICROS + offsets.floorEntry(nanos).getValue() + nanos / NANOS_PER_MICRO;
  }

  /** Sets the clock of Redis. */
  public void step(long micros) {
    offsets.put(scheduler.nanos(), offsets.lastEntry().getValue() + micros);
  }

  /** Returns whether a new connection is answered. */
  boolean answers() {
    return !down && stops == 0;
  }

  /** Returns whether there is no server. */
  public boolean isDown() {
    return down;
  }

  /** Counts the starts of the server: connections of an earlier one are broken. */
  int life() {
    return life;
  }

  /** Returns the number of a new connection. */
  int newLine() {
    return lines++;
  }

  /** Stands still, as by SIGSTOP. */
  public void stop() {
    stops++;
  }

  /** Goes on: what waits in sockets runs, those of different connections in any order. */
  public void resume() {
    stops--;
    if (stops == 0) {
      List<Request> all = new ArrayList<>(waiting);
      waiting.clear();
      runInAnyOrder(all);
    }
  }

  private void runInAnyOrder(List<Request> requests) {
    List<Integer> lines = new ArrayList<>();
    requests.forEach(
        request -> {
          if (!lines.contains(request.line())) {
            lines.add(request.line());
          }
        });
    Collections.shuffle(lines, random);
    for (int line : lines) {
      requests.stream().filter(each -> each.line() == line).forEach(this::run);
    }
  }

  /** Dies: what waits is lost. */
  void kill() {
    down = true;
    life++;
    waiting.clear();
  }

  /** Starts again. */
  public void start() {
    down = false;
  }

  /** Receives a request. */
  void arrive(Request request) {
    if (down || request.life() != life) {
      return;
    }
    if (stops > 0) {
      waiting.add(request);
    } else {
      run(request);
    }
  }

  private void publish(List<?> published) {
    for (int i = 0; i < published.size(); i += 2) {
      String channel = String.valueOf(published.get(i));
      String message = String.valueOf(published.get(i + 1));
      subscriptions.stream()
          .filter(Subscription::isOpen)
          .forEach(each -> each.send(channel, message));
    }
  }

  private void run(Request request) {
    List<Object> answer = null;
    RedisCommandExecutionException failure = null;
    if (request.script() != null) {
      try {
        RedisScripts.Ran ran =
            scripts.run(
                request.script(),
                request.keys(),
                request.arguments(),
                (int) subscriptions.stream().filter(Subscription::isOpen).count(),
                micros());
        answer = ran.answer();
        publish(ran.published());
      } catch (RedisCommandExecutionException error) {
        failure = error;
      }
      observer.ran(request, answer, failure);
    }
    request.answered(scheduler.nanos(), answer, failure);
  }
}
