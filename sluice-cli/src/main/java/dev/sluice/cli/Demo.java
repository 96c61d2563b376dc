package dev.sluice.cli;

import dev.sluice.Limit;
import dev.sluice.NanoClock;
import dev.sluice.TokenBucket;
import dev.sluice.cli.Callers.Greedy;
import dev.sluice.cli.Callers.Patient;
import dev.sluice.cli.Callers.Polite;
import dev.sluice.cli.Snapshot.BucketState;
import dev.sluice.cli.Snapshot.Counts;
import java.time.Duration;

/** Three callers on one bucket, whose limit changes half-way. */
final class Demo {
  static final long CAPACITY = 20;
  static final long FIRST_RATE = 20;
  static final long SECOND_RATE = 40;

  /** How often the view is told; a fraction of a second that halves it. */
  static final int TICKS_PER_SECOND = 10;

  private static final long TICK_NANOS = Duration.ofSeconds(1).toNanos() / TICKS_PER_SECOND;

  private final Pacer pacer;
  private final DemoView view;
  private final NanoClock clock;
  private final long startNanos;
  private final Allowance allowance;
  private final TokenBucket bucket;
  private final Polite polite;
  private final Greedy greedy;
  private final Patient patient;
  private boolean legal = true;

  Demo(Pacer pacer, DemoView view) {
    this.pacer = pacer;
    this.view = view;
    this.clock = pacer.clock();
    this.startNanos = clock.nanoTime();
    this.allowance = new Allowance(CAPACITY, FIRST_RATE, startNanos);
    this.bucket = TokenBucket.builder().limit(limit(FIRST_RATE)).clock(clock).build();
    this.polite = new Polite(bucket, clock);
    this.greedy = new Greedy(bucket, clock, startNanos);
    this.patient = new Patient(bucket, clock);
  }

  private static Limit limit(long perSecond) {
    return new Limit.Balanced(CAPACITY, perSecond, Duration.ofSeconds(1));
  }

  /** Runs to the end, or until the user stops it; returns whether the bucket kept its promise. */
  boolean run(int seconds) {
    view.begin(seconds);
    pacer.every(Polite.PERIOD, polite);
    pacer.every(Greedy.PERIOD, greedy);
    pacer.every(Patient.PERIOD, patient);
    watch(seconds * TICKS_PER_SECOND);
    pacer.stopActions();
    patient.leave();
    Snapshot last = checked(snapshot());
    view.end(last, legal);
    return legal;
  }

  private void watch(int ticks) {
    for (int tick = 1; tick <= ticks && sleepUntil(tick); tick++) {
      view.tick(tick, checked(snapshot()));
      if (tick == ticks / 2) {
        changeLimit();
      }
    }
  }

  private boolean sleepUntil(int tick) {
    return pacer.sleepUntil(startNanos + tick * TICK_NANOS);
  }

  private Snapshot checked(Snapshot snapshot) {
    legal = legal && snapshot.isLegal();
    return snapshot;
  }

  private void changeLimit() {
    long nowNanos = clock.nanoTime();
    allowance.changeRate(SECOND_RATE, nowNanos);
    bucket.reconfigure(limit(SECOND_RATE), nowNanos);
    view.limitChanged(SECOND_RATE);
  }

  /** Reads the counts first: what is granted meanwhile is then not held against the bucket. */
  private Snapshot snapshot() {
    Counts counts = new Counts(polite.count(), greedy.count(), patient.count());
    long nowNanos = clock.nanoTime();
    return new Snapshot(
        nowNanos - startNanos,
        new BucketState(allowance.perSecond(), bucket.available(nowNanos), bucket.waiting()),
        counts,
        greedy.toldNanos(),
        allowance.legalAt(nowNanos));
  }
}
