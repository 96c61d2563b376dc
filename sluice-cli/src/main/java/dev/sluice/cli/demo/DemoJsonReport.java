package dev.sluice.cli.demo;

import dev.sluice.cli.text.JsonWriter;
import java.util.List;

/** The figures of the demo as JSON. */
public final class DemoJsonReport {
  private DemoJsonReport() {}

  public static JsonWriter of(DemoResult figures, boolean quick) {
    List<String> problems = figures.problems();
    return JsonWriter.object()
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

  private static JsonWriter provider(RateStats provider) {
    return JsonWriter.object()
        .put("ratePerSecond", DemoScenario.RATE_PER_SECOND)
        .put("burst", DemoScenario.BURST)
        .put("granted", provider.granted())
        .put("millis", provider.millis())
        .put("worstWindow", provider.worst().json())
        .put("worstSecond", provider.worstSecond().json())
        .put("withinLimit", provider.worst().isLegal());
  }

  private static JsonWriter model(DemoResult.ModelStats model) {
    return JsonWriter.object()
        .put("model", DemoModelCallers.MODEL)
        .put("tokensPerSecond", DemoModelCallers.TOKENS_PER_SECOND)
        .put("burst", DemoModelCallers.BURST_TOKENS)
        .put("charged", model.chargedTokens())
        .put("legalAtMost", model.legalTokens())
        .put("withinLimit", model.isLegal())
        .putObjects(
            "classes",
            model.classes().stream().map(ModelCallLog.PriorityClassStats::json).toList());
  }

  private static JsonWriter crash(DemoResult figures) {
    return JsonWriter.object()
        .put("afterMillis", figures.crash().afterMillis())
        .put("readyAfterMillis", figures.crash().readyMillis())
        .put("nothingGrantedMillis", figures.outage().millis())
        .put("unansweredSends", figures.crash().unansweredSends())
        .put("unansweredAcks", figures.crash().unsettled());
  }

  private static JsonWriter messages(DemoResult figures) {
    return JsonWriter.object()
        .put("acknowledged", figures.balance().accepted())
        .put("delivered", figures.noisy().count().delivered() + figures.quiet().count().delivered())
        .put("lost", figures.balance().lost())
        .put("deliveredAgain", figures.balance().again())
        .put("returnedAfterAck", figures.balance().returned())
        .put("left", figures.left());
  }
}
