package dev.sluice.redis.simulation;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The faults of a simulation, with their times. */
public final class Faults {
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

  /** The faults of a simulation besides those of nodes and of the network. */
  public enum Severity {
    /** Redis keeps its data and its clock. */
    DATA_KEPT,
    /** Redis loses its data once. */
    DATA_LOST,
    /** Redis goes back to older data once. */
    OLDER_DATA,
    /** The clock of Redis is set once. */
    CLOCK_STEP
  }

  /**
   * One fault.
   *
   * @param nanos when it happens
   * @param text what it is called in a report
   * @param effect what it does
   */
  public record Fault(long nanos, String text, Consumer<SimulatedFleet<?>> effect) {}

  private final Random random;
  private final List<Fault> faults = new ArrayList<>();
  private long atNanos;

  private Faults(Random random) {
    this.random = random;
  }

  /** Returns the faults between two times, in their order. */
  public static List<Fault> random(Random random, Severity severity, long fromNanos, long toNanos) {
    Faults faults = new Faults(random);
    int count = 1 + random.nextInt(6);
    for (int i = 0; i < count; i++) {
      faults.atNanos = fromNanos + (long) (random.nextDouble() * (toNanos - fromNanos));
      faults.addOne();
    }
    if (severity != Severity.DATA_KEPT) {
      faults.atNanos = fromNanos + (long) (random.nextDouble() * (toNanos - fromNanos));
      faults.addSevere(severity);
    }
    faults.faults.sort(Comparator.comparingLong(Fault::nanos));
    return faults.faults;
  }

  private void add(String text, Consumer<SimulatedFleet<?>> effect) {
    add(0, text, effect);
  }

  private void add(long laterNanos, String text, Consumer<SimulatedFleet<?>> effect) {
    faults.add(new Fault(atNanos + laterNanos, text, effect));
  }

  private long millis(int from, int to) {
    return (from + random.nextInt(to - from)) * MILLI + random.nextInt((int) MILLI);
  }

  private long duration() {
    return switch (random.nextInt(5)) {
      case 0 -> millis(20, 900);
      case 1 -> millis(900, 1_800);
      case 2 -> millis(1_800, 4_000);
      case 3 -> millis(4_000, 9_000);
      default -> millis(9_000, 16_000);
    };
  }

  private static String text(String what, long nanos) {
    return "%s for %.3f s".formatted(what, nanos / 1e9);
  }

  private void addOne() {
    int node = random.nextInt(8);
    switch (random.nextInt(15)) {
      case 0, 1 -> stop(duration());
      case 2 -> {
        for (int i = 2 + random.nextInt(4); i > 0; i--) {
          long stopped = millis(500, 3_200);
          stop(stopped);
          atNanos += stopped + millis(50, 2_000);
        }
      }
      case 3 -> kill(millis(20, 4_000), "kill of Redis", simulation -> {});
      case 4 -> hold(node);
      case 5 -> holdAndBreak(node);
      case 6 -> add("line of " + node + " breaks", s -> s.wire(node).breakLine());
      case 7 -> {
        int requests = random.nextInt(60);
        int answers = random.nextInt(60);
        onWire(node, "loss", wire -> wire.lose(requests, answers), wire -> wire.lose(0, 0));
      }
      case 8 -> {
        long slow = millis(20, 1_500);
        onWire(node, "delays", wire -> wire.slow(slow), wire -> wire.slow(0));
      }
      case 9 -> onWire(node, "cut", wire -> wire.cut(true), wire -> wire.cut(false));
      case 10 -> cutAndBreak(node);
      case 11 -> cutTwo(node);
      case 12 -> {
        long paused = duration();
        boolean timersFirst = random.nextBoolean();
        add(
            text("pause of " + node, paused),
            s -> {
              s.lasts(paused);
              s.node(node).pause(paused, timersFirst);
            });
      }
      case 13 -> add("kill of " + node, s -> s.kill(node));
      default -> {
        add("join", SimulatedFleet::join);
        if (random.nextBoolean()) {
          add(duration(), "leave of " + node, s -> s.leave(node));
        }
      }
    }
  }

  /** The connection stands still, and then breaks; the next one overtakes what it holds. */
  private void holdAndBreak(int node) {
    long held = millis(100, 2_500);
    add(
        text("requests held on the line of " + node, held),
        s -> {
          s.lasts(held);
          s.wire(node).holdLine(held);
        });
    add(millis(0, 400), "line of " + node + " breaks", s -> s.wire(node).breakLine());
  }

  /** One node is cut off, then the next one, or what that sends is held. */
  private void cutTwo(int node) {
    cutAndBreak(node);
    atNanos += millis(0, 1_500);
    if (random.nextBoolean()) {
      onWire(node + 1, "cut", wire -> wire.cut(true), wire -> wire.cut(false));
      return;
    }
    long held = millis(1_000, 3_500);
    add(
        text("requests held at " + (node + 1), held),
        s -> {
          s.lasts(held);
          s.wire(node + 1).hold(true, false, held);
        });
  }

  private void during(
      long nanos, String what, Consumer<SimulatedFleet<?>> begin, Consumer<SimulatedFleet<?>> end) {
    add(text(what, nanos), begin.andThen(s -> s.endLater(nanos, () -> end.accept(s))));
  }

  private void onWire(
      int node, String what, Consumer<SimulatedWire> begin, Consumer<SimulatedWire> end) {
    long nanos = duration();
    add(
        text(what + " at " + node, nanos),
        s -> {
          SimulatedWire wire = s.wire(node);
          begin.accept(wire);
          s.endLater(nanos, () -> end.accept(wire));
        });
  }

  /** A cut that the node notices. */
  private void cutAndBreak(int node) {
    onWire(
        node,
        "cut and break",
        wire -> {
          wire.cut(true);
          wire.breakLine();
        },
        wire -> wire.cut(false));
  }

  private void hold(int node) {
    long held = duration();
    int which = random.nextInt(3);
    add(
        text(List.of("requests", "answers", "both ways").get(which) + " held at " + node, held),
        s -> {
          s.lasts(held);
          s.wire(node).hold(which != 1, which != 0, held);
        });
  }

  /** Returns a time in which all that a node sends and is sent vanishes. */
  public static Fault cut(long atNanos, int node, long nanos) {
    return new Fault(
        atNanos,
        text("cut at " + node, nanos),
        s -> {
          SimulatedWire wire = s.wire(node);
          wire.cut(true);
          s.endLater(nanos, () -> wire.cut(false));
        });
  }

  /**
   * Returns a time in which a node is cut off, and another one that begins after the node has
   * missed the first answers to a script that it sends on its return.
   *
   * @param count how many answers are lost
   * @param pauseNanos how long after the last of them the node is cut off again
   */
  public static Fault lostAnswers(
      long atNanos,
      int node,
      String script,
      int count,
      long nanos,
      long pauseNanos,
      long secondNanos) {
    return new Fault(
        atNanos,
        text("cut at %d, loss of %d answers to %s, cut".formatted(node, count, script), nanos),
        s -> {
          SimulatedWire wire = s.wire(node);
          wire.cut(true);
          s.endLater(nanos, () -> wire.cut(false));
          wire.loseAnswersTo(
              script,
              count,
              () -> {
                s.lasts(pauseNanos + secondNanos);
                s.scheduler()
                    .after(
                        pauseNanos,
                        () -> {
                          s.note(() -> "FAULT second cut at " + node);
                          wire.cut(true);
                          s.endLater(secondNanos, () -> wire.cut(false));
                        });
              });
        });
  }

  /** Returns a time in which Redis stands still. */
  public static Fault stopOfRedis(long atNanos, long nanos) {
    return new Fault(
        atNanos,
        text("stop of Redis", nanos),
        s -> {
          s.server().stop();
          s.endLater(nanos, () -> s.server().resume());
        });
  }

  private void stop(long nanos) {
    faults.add(stopOfRedis(atNanos, nanos));
  }

  private void kill(long nanos, String what, Consumer<SimulatedFleet<?>> dead) {
    during(
        nanos,
        what,
        s -> {
          s.killServer();
          dead.accept(s);
        },
        s -> s.server().start());
  }

  private void addSevere(Severity severity) {
    switch (severity) {
      case DATA_LOST -> kill(millis(20, 4_000), "loss of data", SimulatedFleet::loseData);
      case OLDER_DATA -> {
        long lag = millis(5, 800);
        add("copy", SimulatedFleet::saveData);
        atNanos += lag;
        kill(millis(20, 2_000), "failover to older data", SimulatedFleet::restoreData);
      }
      default -> {
        long micros =
            (random.nextBoolean() ? 1 : -1) * duration() / 1_000 * (random.nextBoolean() ? 100 : 1);
        add("clock step by %.3f s".formatted(micros / 1e6), s -> s.step(micros));
      }
    }
  }
}
