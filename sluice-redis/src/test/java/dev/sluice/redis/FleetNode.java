package dev.sluice.redis;

import dev.sluice.Limit;
import dev.sluice.redis.internal.connection.ConnectionState;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.limits.BucketDemand;
import dev.sluice.redis.internal.limits.LimitsFleetMember;
import dev.sluice.redis.internal.limits.OutageLimits;
import dev.sluice.redis.internal.limits.RedisDecider;
import dev.sluice.redis.internal.limits.RedisLimits;
import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.testkit.Await;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A node of a fleet under test: takes tokens of one bucket, and knows who decided and when. */
final class FleetNode implements AutoCloseable {
  static final String BUCKET = "hot";

  /** Redis tells the time of a clock that is wrong. */
  private static final long CLOCK_OFF = TimeUnit.SECONDS.toMicros(60);

  private final SharedLimits limits;
  private final ScriptLimit quota;
  private final OutageMode policy;
  private final RecordedOutages outages = new RecordedOutages();
  private final RedisDecider decider;
  private final String place;

  /** The part of the system that decided. */
  enum Judge {
    REDIS,
    SHARE,
    POLICY
  }

  /**
   * An answer.
   *
   * @param granted whether the token was there
   * @param judge who decided
   * @param earliest the microsecond of 1970 in which it was decided at the earliest
   * @param latest the same at the latest; Redis tells it exactly
   */
  record Answer(boolean granted, Judge judge, long earliest, long latest) {}

  FleetNode(SharedLimits.Builder settings, Limit limit, OutageMode policy) {
    this.limits =
        settings
            .outageListener(outages)
            .options(SharedLimitOptions.defaults().withOutageMode(policy))
            .build();
    this.quota = ScriptLimit.of(limit);
    this.policy = policy;
    LimitsFleetMember fleet = ((RedisLimits) limits).fleet();
    this.decider = new RedisDecider(fleet);
    this.place = fleet.space().bucket(BUCKET);
    if (policy == OutageMode.LOCAL) {
      awaitShare(limits);
    }
  }

  /**
   * Waits until a node that Redis knows has a share: the first of a fleet has none for 1.5 seconds.
   */
  static void awaitShare(SharedLimits limits) {
    FleetConnection connection = ((RedisLimits) limits).fleet().connection();
    Await.until(
        "a share", () -> connection.share() > 0 || connection.state() != ConnectionState.CONNECTED);
  }

  static FleetNode local(String url, String prefix, Limit limit) {
    return new FleetNode(SharedLimits.builder().url(url).prefix(prefix), limit, OutageMode.LOCAL);
  }

  /** A node that is lost only where its connection is: for tests that are not about time-outs. */
  static FleetNode patient(String url, String prefix, Limit limit) {
    return new FleetNode(
        SharedLimits.builder().url(url).prefix(prefix).timeout(Duration.ofMinutes(1)),
        limit,
        OutageMode.LOCAL);
  }

  SharedLimits limits() {
    return limits;
  }

  SharedLimitsStatus status() {
    return limits.status();
  }

  List<RecordedOutages.Event> events() {
    return outages.events();
  }

  ScriptLimit quota() {
    return quota;
  }

  /** Returns the tokens that its share granted in outages, as the listener was told. */
  long grantedByShare() {
    return outages.grantedTokens();
  }

  /** Where the bucket is in Redis. */
  String place() {
    return place;
  }

  static long micros() {
    Instant now = Instant.now();
    return TimeUnit.SECONDS.toMicros(now.getEpochSecond())
        + TimeUnit.NANOSECONDS.toMicros(now.getNano());
  }

  Answer take() {
    return take(1);
  }

  Answer take(long tokens) {
    long before = micros();
    Answer answer =
        decider.answer(new Ask(new BucketDemand(BUCKET, place, quota, 0, tokens), policy)).join();
    long after = micros();
    boolean told = answer.judge() == Judge.REDIS && Math.abs(answer.latest() - after) < CLOCK_OFF;
    return told ? answer : new Answer(answer.granted(), answer.judge(), before, after);
  }

  @Override
  public void close() {
    limits.close();
  }

  /** The question of a bucket, with an answer that says more. */
  private record Ask(BucketDemand demand, OutageMode policy)
      implements RedisDecider.BucketRequest<Answer> {
    @Override
    public List<BucketDemand> demands() {
      return List.of(demand);
    }

    @Override
    public boolean take() {
      return true;
    }

    @Override
    public Answer read(RedisDecider.ScriptDecision verdict) {
      boolean granted = verdict.outcome() == RedisDecider.ScriptOutcome.GRANTED;
      return new Answer(granted, Judge.REDIS, verdict.micros(), verdict.micros());
    }

    @Override
    public Answer local(OutageLimits limits) {
      return new Answer(limits.decide(demand, true).isGranted(), Judge.SHARE, 0, 0);
    }

    @Override
    public Answer granted() {
      return new Answer(true, Judge.POLICY, 0, 0);
    }

    @Override
    public Answer denied() {
      return new Answer(false, Judge.POLICY, 0, 0);
    }
  }

  /** Waits until every node knows of all. */
  static void awaitFleet(List<FleetNode> nodes) {
    Await.until(
        "a fleet that knows its nodes",
        Duration.ofSeconds(10),
        () ->
            nodes.stream()
                .allMatch(
                    node -> node.status().available() && node.status().nodes() == nodes.size()));
  }
}
