package dev.sluice.governor;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;

/**
 * Callers who always have more to do, a governor, and a provider that takes less than what is
 * configured, in virtual time.
 */
final class ProviderSimulation {
  static final long TARGET_TPM = 240_000;
  private static final long BURST_TPM = 300_000;
  private static final long MS = 1_000_000L;
  private static final long MINUTE = 60_000 * MS;
  private static final int ALWAYS_IN_LINE = 20;
  private static final String MODEL = "m";

  /**
   * Settings of a simulation.
   *
   * @param headers what the provider says
   * @param realShare of the target that it takes
   * @param bucketSeconds how much of that it takes at once
   * @param leastTokens of a call
   * @param mostTokens of a call
   * @param told whether the governor hears the provider's answers
   * @param seed of everything random
   */
  record Setting(
      MockProvider.Headers headers,
      double realShare,
      int bucketSeconds,
      long leastTokens,
      long mostTokens,
      boolean told,
      long seed) {
    double realTpm() {
      return realShare * TARGET_TPM;
    }
  }

  /**
   * The result, after the first minutes.
   *
   * @param calls that the provider saw
   * @param refused of these
   * @param usedOfLimit tokens used, of what the provider's limit allows in that time
   * @param standing at the end
   */
  record Result(long calls, long refused, double usedOfLimit, GovernorStatus.Provider standing) {
    double refusedShare() {
      return (double) refused / calls;
    }
  }

  private final Setting setting;
  private final Random random;
  private final VirtualTimer timer = new VirtualTimer();
  private final MockProvider provider;
  private final Governor governor;
  private final List<CompletableFuture<Void>> followUps = new ArrayList<>();
  private long countFrom = Long.MAX_VALUE;
  private int inLine;
  private long calls;
  private long refused;
  private double used;

  private ProviderSimulation(Setting setting) {
    this.setting = setting;
    this.random = new Random(setting.seed());
    this.provider =
        new MockProvider(
            setting.headers(), setting.realTpm(), setting.realTpm() * setting.bucketSeconds() / 60);
    this.governor =
        Governor.builder(
                BudgetConfig.builder()
                    .models(Map.of(MODEL, SeedBudget.budget(TARGET_TPM, BURST_TPM).build()))
                    .build())
            .clock(timer)
            .build();
  }

  static Result run(Setting setting, int minutesBefore, int minutesCounted) {
    ProviderSimulation simulation = new ProviderSimulation(setting);
    try (Governor governor = simulation.governor) {
      simulation.ask();
      simulation.countFrom = minutesBefore * MINUTE;
      simulation.timer.advance((minutesBefore + minutesCounted) * MINUTE);
      // Those still in line are not done; one of the others may have failed.
      simulation.followUps.stream()
          .filter(CompletableFuture::isDone)
          .forEach(CompletableFuture::join);
      return new Result(
          simulation.calls,
          simulation.refused,
          simulation.used / (setting.realTpm() * minutesCounted),
          governor.blocking().status().models().get(MODEL).provider());
    }
  }

  /** Keeps the line filled. */
  private void ask() {
    while (inLine < ALWAYS_IN_LINE) {
      long tokens = random.nextLong(setting.leastTokens(), setting.mostTokens() + 1);
      TokenDecision outcome =
          governor
              .blocking()
              .request(TokenRequest.of(MODEL, tokens).withPriorityClass("P0_clinical"));
      if (outcome instanceof TokenDecision.Granted granted) {
        go(granted);
      } else if (outcome instanceof TokenDecision.Queued queued) {
        inLine++;
        followUps.add(
            governor
                .await(queued.ticket())
                .thenAccept(
                    decided -> {
                      inLine--;
                      go((TokenDecision.Granted) decided.orElseThrow());
                      ask();
                    }));
      } else {
        throw new AssertionError(outcome);
      }
    }
  }

  private void go(TokenDecision.Granted granted) {
    timer.schedule(millis(20, 80), () -> arrive(granted));
  }

  private void arrive(TokenDecision.Granted granted) {
    ProviderResponse answer = provider.call(granted.tokens(), timer.nanoTime());
    boolean taken = answer.status() == 200;
    long actual = taken ? (long) (granted.tokens() * random.nextDouble(0.3, 1)) : 0;
    if (timer.nanoTime() >= countFrom) {
      calls++;
      refused += taken ? 0 : 1;
      used += actual;
    }
    long callNanos = taken ? millis(1_000, 15_000) : millis(20, 80);
    timer.schedule(callNanos, () -> end(granted, answer, actual));
  }

  private void end(TokenDecision.Granted granted, ProviderResponse answer, long actual) {
    if (answer.status() == 200) {
      provider.ended(granted.tokens() - actual, timer.nanoTime());
    }
    if (setting.told()) {
      governor.blocking().feedback(MODEL, answer);
    }
    governor.blocking().settle(granted.reservation(), actual);
  }

  private long millis(long least, long most) {
    return random.nextLong(least * MS, most * MS);
  }
}
