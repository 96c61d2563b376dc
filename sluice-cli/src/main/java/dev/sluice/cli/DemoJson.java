package dev.sluice.cli;

import java.io.PrintWriter;

/** The demo as one JSON object per second, and one at the end; counts are since the start. */
final class DemoJson implements DemoView {
  private final PrintWriter out;

  DemoJson(PrintWriter out) {
    this.out = out;
  }

  @Override
  public void begin(int seconds) {}

  @Override
  public void tick(int tick, Snapshot snapshot) {
    if (tick % Demo.TICKS_PER_SECOND == 0) {
      out.println(json("second", snapshot));
    }
  }

  @Override
  public void limitChanged(long perSecond) {}

  @Override
  public void end(Snapshot last, boolean legal) {
    out.println(json("end", last).put("withinLimit", legal));
  }

  private static Json json(String event, Snapshot snapshot) {
    return Json.object()
        .put("event", event)
        .put("elapsedNanos", snapshot.elapsedNanos())
        .put("tokensPerSecond", snapshot.bucket().perSecond())
        .put("level", snapshot.bucket().level())
        .put("waiting", snapshot.bucket().waiting())
        .put("polite", snapshot.counts().polite().json())
        .put("greedy", snapshot.counts().greedy().json())
        .put("patient", snapshot.counts().patient().json())
        .put("retryAfterNanos", snapshot.toldNanos())
        .put("granted", snapshot.counts().granted())
        .put("legalAtMost", snapshot.legal());
  }
}
