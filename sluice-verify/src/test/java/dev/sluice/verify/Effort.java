package dev.sluice.verify;

import org.jetbrains.lincheck.datastructures.ManagedStrategyGuarantee;
import org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Options;
import org.jetbrains.lincheck.datastructures.StressOptions;

/** How long Lincheck tries: seconds per suite by default, minutes in {@code ./test --nightly}. */
final class Effort {
  private static final int FACTOR = Integer.getInteger("sluice.verify.effort", 1);

  private Effort() {}

  /** Every interleaving of small scenarios, as far as the number of invocations goes. */
  static ModelCheckingOptions modelChecking() {
    return sized(new ModelCheckingOptions(), 2, 50)
        .addGuarantee(collectionsAreGuarded())
        .addGuarantee(backOffEnds());
  }

  /** A counted loop, which Lincheck would take for a thread that hangs. */
  private static ManagedStrategyGuarantee backOffEnds() {
    return ManagedStrategyGuaranteeKt.forClasses("dev.sluice.internal.util.SpinBackoff")
        .allMethods()
        .ignore();
  }

  /** The line keeps these under its lock: a switch inside them shows nothing. */
  private static ManagedStrategyGuarantee collectionsAreGuarded() {
    return ManagedStrategyGuaranteeKt.forClasses(
            "java.util.ArrayDeque",
            "java.util.HashMap",
            "java.util.HashSet",
            "java.util.LinkedHashMap",
            "java.util.LinkedHashSet")
        .allMethods()
        .ignore();
  }

  /** Real threads: finds less, but on the machine as it is. */
  static StressOptions stress() {
    return sized(new StressOptions(), 2, 150);
  }

  private static <T extends Options<T, ?>> T sized(T options, int iterations, int invocations) {
    return options
        .iterations(iterations * FACTOR)
        .invocationsPerIteration(invocations * FACTOR)
        .threads(3)
        .actorsPerThread(2)
        .actorsBefore(1)
        .actorsAfter(3);
  }
}
