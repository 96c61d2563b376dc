package dev.sluice.server.operations;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ModelBudget;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.LifecycleLog;
import dev.sluice.server.support.Reloadable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;

/** The budgets of the governor, as a file that can be reloaded. */
public final class ReloadableBudgets implements Reloadable {
  private final BudgetFileSource source;
  private final Governor governor;

  public ReloadableBudgets(BudgetFileSource source, Governor governor) {
    this.source = source;
    this.governor = governor;
  }

  @Override
  public String name() {
    return "governor.file";
  }

  @Override
  public String reload() {
    BudgetConfig before = source.current();
    BudgetConfig after = reloaded();
    LifecycleLog.closedModels(governor.closedModels());
    return before.equals(after) ? "" : changes(before, after);
  }

  /** Blocks: files are reloaded one after the other, on a thread of their own. */
  private BudgetConfig reloaded() {
    try {
      return source.reload(governor::reload).join();
    } catch (CompletionException refused) {
      throw ApiException.of(refused);
    }
  }

  private static String changes(BudgetConfig before, BudgetConfig after) {
    List<String> added = new ArrayList<>();
    List<String> changed = new ArrayList<>();
    after
        .models()
        .forEach(
            (model, budget) -> {
              ModelBudget known = before.models().get(model);
              if (known == null) {
                added.add(model);
              } else if (!known.equals(budget)) {
                changed.add(model);
              }
            });
    List<String> removed = new ArrayList<>(before.models().keySet());
    removed.removeAll(after.models().keySet());
    List<String> told = new ArrayList<>();
    tell(told, "models added", added);
    tell(told, "models changed", changed);
    tell(told, "models removed", removed);
    // Rules, routes and thresholds are not listed one by one.
    return told.isEmpty() ? "governor settings, routes or thresholds" : String.join("; ", told);
  }

  private static void tell(List<String> told, String what, List<String> models) {
    if (!models.isEmpty()) {
      told.add(what + ": " + String.join(", ", models));
    }
  }
}
