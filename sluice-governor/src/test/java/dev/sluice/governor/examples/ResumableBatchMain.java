package dev.sluice.governor.examples;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ModelBudget;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A batch in a process of its own, to be killed: DIRECTORY CHUNKS. Says which chunk it is at. */
final class ResumableBatchMain {
  private static final String MODEL = "m";

  private ResumableBatchMain() {}

  static List<ResumableBatch.Chunk> chunks(int count) {
    List<ResumableBatch.Chunk> chunks = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      chunks.add(new ResumableBatch.Chunk("chunk-" + i, 100));
    }
    return chunks;
  }

  public static void main(String[] args) throws Exception {
    // 2,000 chunks a second, the first 5 at once: it waits in line all the time.
    ModelBudget budget =
        ModelBudget.builder(Limit.perMinute(12_000_000, 500)).priorityClass("P2_batch", 1).build();
    try (Governor governor =
        Governor.create(BudgetConfig.builder().models(Map.of(MODEL, budget)).build())) {
      ResumableBatch batch =
          new ResumableBatch(
              governor, MODEL, Path.of(args[0]), time -> Thread.sleep(time.toMillis()));
      batch.run(
          chunks(Integer.parseInt(args[1])),
          chunk -> {
            System.out.println(chunk.id());
            return new ResumableBatch.Result(chunk.id() + "\n", chunk.tokens());
          });
    }
  }
}
