package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.redis.internal.connection.MembershipConfig;
import dev.sluice.testkit.load.GrantLog;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Members become absent, save up their share, grant it and return, in virtual time, while Redis
 * grants and settles: no window of all grants less refunds exceeds the limit, and the count of the
 * scripts agrees.
 *
 * <p>{@code -Dsluice.absent.seeds=1000} runs so many seeds.
 */
final class AbsentRandomTest {
  private static final long SECOND = 1_000_000;
  private static final long START = 1_000_000 * SECOND;

  private static final long BURST = 1_000;
  private static final long PER_SECOND = 100;

  private static final int MEMBERS = 4;
  private static final int STEPS = 150;

  /** guard.lua knows as many changes as heartbeat.lua remembers. */
  private static final int MOST_CHANGES = 8;

  private static RedisServer redis;

  @BeforeAll
  static void start() {
    redis = RedisServer.start();
  }

  @AfterAll
  static void stop() {
    redis.close();
  }

  static LongStream seeds() {
    return LongStream.range(0, Integer.getInteger("sluice.absent.seeds", 40));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void grantsOfRedisAndOfAbsentMembers_neverExceedTheLimit(long seed) {
    redis.command("FLUSHALL");
    Day day = new Day(new Random(seed));
    for (int i = 0; i < STEPS; i++) {
      day.step();
    }
    day.returnAll();
    long audited = day.audited();
    assertThat(day.excess())
        .as("excess, seed %d, audited %d", seed, audited)
        .isLessThanOrEqualTo(0);
    assertThat(audited).as("audited, seed %d", seed).isZero();
  }

  /** Counts granted tokens by the time of their grant, less refunds. */
  private static final class Grant {
    final String id;
    final long at;
    long tokens;

    Grant(String id, long at, long tokens) {
      this.id = id;
      this.at = at;
      this.tokens = tokens;
    }
  }

  /** An absent member with its share of the limit, which starts empty. */
  private static final class Absent {
    private static final double SHARE = (double) BURST / MEMBERS;
    final List<Grant> granted = new ArrayList<>();
    private static final double RATE = (double) PER_SECOND / MEMBERS;
    private double saved;
    private long since;

    Absent(long now) {
      since = now;
    }

    void grantAll(long now) {
      saved = Math.min(SHARE, saved + RATE * (now - since) / SECOND);
      since = now;
      long whole = (long) Math.floor(saved);
      saved -= whole;
      granted.add(new Grant("", now, whole));
    }
  }

  private static final class Day {
    private final Random random;
    private final TimedScripts scripts = new TimedScripts(redis);
    private final StringBuilder absences = new StringBuilder();
    private final List<Absent> absent = new ArrayList<>();
    private final List<Grant> all = new ArrayList<>();
    private final List<Grant> open = new ArrayList<>();
    private long now = START;
    private int changes;
    private int ids;
    private int reports;

    Day(Random random) {
      this.random = random;
      ModelBudget budget = SeedBudget.budget(60 * PER_SECOND, BURST).build();
      run(
          "configure",
          TimedScripts.configuration("m", budget, WaitingListConfig.builder().build()));
    }

    private List<?> run(String script, List<String> arguments) {
      return scripts.runWith(absences.toString(), script, now, arguments);
    }

    void step() {
      now += 1 + random.nextInt((int) (random.nextInt(10) == 0 ? 20 * SECOND : 2 * SECOND));
      switch (random.nextInt(8)) {
        case 0, 1, 2 -> ask(1 + random.nextInt((int) BURST));
        case 3 -> askForAll();
        case 4, 5 -> settle();
        case 6 -> absent.forEach(each -> grantSometimes(each));
        default -> changeMembers();
      }
    }

    private void grantSometimes(Absent member) {
      if (random.nextBoolean()) {
        member.grantAll(now);
      }
    }

    private void askForAll() {
      long left = (Long) run("poll", List.of("status")).get(0);
      if (left > 0) {
        ask(left);
      }
    }

    private void ask(long tokens) {
      String id = "id" + ids++;
      String text = Long.toString(tokens);
      List<String> arguments = List.of(id, "now", "", OutageRig.P1, text, text, "0", "", "fast");
      if (run("request", arguments).get(0).equals("g")) {
        Grant grant = new Grant(id, now, tokens);
        all.add(grant);
        open.add(grant);
      }
    }

    private void settle() {
      if (!open.isEmpty()) {
        Grant grant = open.remove(random.nextInt(open.size()));
        long used = random.nextBoolean() ? 0 : random.nextInt((int) grant.tokens + 1);
        List<String> arguments = List.of("settle", grant.id, Long.toString(used));
        grant.tokens -= (Long) run("settle", arguments).get(3);
      }
    }

    private void changeMembers() {
      if (!absent.isEmpty() && random.nextBoolean()) {
        comeBack();
      } else if (absent.size() < MEMBERS && changes < MOST_CHANGES - absent.size() - 1) {
        absent.add(new Absent(now));
        noteChange();
      }
    }

    private void noteChange() {
      changes++;
      long parts = (long) absent.size() * (MembershipConfig.PARTS / MEMBERS);
      absences.append(absences.isEmpty() ? "" : " ").append(now).append(':').append(parts);
    }

    private void comeBack() {
      Absent member = absent.get(0);
      member.grantAll(now);
      List<String> arguments =
          new ArrayList<>(List.of(Integer.toString(++reports), "0", "0", "0", "0"));
      arguments.add(Integer.toString(member.granted.size()));
      for (Grant grant : member.granted) {
        arguments.add(Long.toString(grant.at / SECOND));
        arguments.add(Long.toString(grant.tokens));
      }
      run("report", arguments);
      all.addAll(member.granted);
      absent.remove(member);
      now++;
      noteChange();
    }

    void returnAll() {
      while (!absent.isEmpty()) {
        comeBack();
      }
      askForAll();
    }

    long excess() {
      GrantLog log = new GrantLog();
      all.forEach(grant -> log.record(grant.at, grant.tokens));
      return log.maxExcess(BURST, PER_SECOND, SECOND);
    }

    long audited() {
      return (Long) run("poll", List.of("status")).get(12);
    }
  }
}
