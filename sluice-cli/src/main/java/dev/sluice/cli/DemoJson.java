package dev.sluice.cli;

import dev.sluice.cli.CallLog.ClassFigures;
import java.util.List;

/** The figures of the demo as JSON. */
final class DemoJson {
  private DemoJson() {}

  static Json of(DemoFigures figures, boolean quick) {
    List<String> problems = figures.problems();
    return Json.object()
        .put("quick", quick)
        .put("millis", figures.millis())
        .putObjects("tenants", List.of(figures.noisy().json(), figures.quiet().json()))
        .put("quietTimesShorterThanFifo", figures.quiet().timesShorter())
        .put("provider", provider(figures.provider()))
        .put("model", model(figures.model()))
        .put("crash", crash(figures))
        .put("messages", messages(figures))
        .put("passed", problems.isEmpty())
        .putTexts("problems", problems);
  }

  private static Json provider(RateFigures provider) {
    return Json.object()
        .put("ratePerSecond", DemoScenario.RATE_PER_SECOND)
        .put("burst", DemoScenario.BURST)
        .put("granted", provider.granted())
        .put("millis", provider.millis())
        .put("worstWindow", provider.worst().json())
        .put("worstSecond", provider.worstSecond().json())
        .put("withinLimit", provider.worst().isLegal());
  }

  private static Json model(DemoFigures.ModelFigures model) {
    return Json.object()
        .put("model", DemoCalls.MODEL)
        .put("tokensPerSecond", DemoCalls.TOKENS_PER_SECOND)
        .put("burst", DemoCalls.BURST_TOKENS)
        .put("charged", model.chargedTokens())
        .put("legalAtMost", model.legalTokens())
        .put("withinLimit", model.isLegal())
        .putObjects("classes", model.classes().stream().map(ClassFigures::json).toList());
  }

  private static Json crash(DemoFigures figures) {
    return Json.object()
        .put("afterMillis", figures.crash().afterMillis())
        .put("readyAfterMillis", figures.crash().readyMillis())
        .put("nothingGrantedMillis", figures.outage().millis())
        .put("unansweredSends", figures.crash().unansweredSends())
        .put("unansweredAcks", figures.crash().unsettled());
  }

  private static Json messages(DemoFigures figures) {
    return Json.object()
        .put("acknowledged", figures.balance().accepted())
        .put("delivered", figures.noisy().count().delivered() + figures.quiet().count().delivered())
        .put("lost", figures.balance().lost())
        .put("deliveredAgain", figures.balance().again())
        .put("returnedAfterAck", figures.balance().returned())
        .put("left", figures.left());
  }
}
