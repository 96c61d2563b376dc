package dev.sluice.verify;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jetbrains.kotlinx.lincheck.Actor;
import org.jetbrains.kotlinx.lincheck.CTestStructure;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.kotlinx.lincheck.execution.RandomExecutionGenerator;
import org.jetbrains.lincheck.datastructures.CTestConfiguration;
import org.jetbrains.lincheck.datastructures.RandomProvider;

/**
 * Generates random scenarios that begin with waiting requests and end with a count of the tokens:
 * otherwise few scenarios would have a waiter to serve or to cancel.
 */
public class WaitersFirst extends RandomExecutionGenerator {
  private static final long TOKENS_PER_REQUEST = 2;

  private final Random random;

  public WaitersFirst(CTestConfiguration test, CTestStructure structure, RandomProvider random) {
    super(test, structure, random);
    this.random = random.createRandom();
  }

  @Override
  public ExecutionScenario nextExecution() {
    ExecutionScenario scenario = super.nextExecution();
    List<Actor> before = new ArrayList<>();
    int requests = random.nextInt(scenario.getNThreads() + 1);
    for (int thread = 1; thread <= requests; thread++) {
      before.add(actor("consume", List.of(thread, TOKENS_PER_REQUEST), int.class, long.class));
    }
    before.addAll(scenario.getInitExecution());
    List<Actor> after = new ArrayList<>(scenario.getPostExecution());
    after.add(actor("available", List.of()));
    return new ExecutionScenario(
        before, scenario.getParallelExecution(), after, scenario.getValidationFunction());
  }

  private Actor actor(String operation, List<Object> arguments, Class<?>... types) {
    try {
      return new Actor(testConfiguration.getTestClass().getMethod(operation, types), arguments);
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(e);
    }
  }
}
