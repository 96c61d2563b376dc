package dev.sluice.bench;

import java.util.concurrent.CompletionStage;

/** Placeholder until module sluice-redis has its API. */
final class SluiceSharedLimiter implements SharedLimiter {
  private final SharedLimiter ceiling;

  private SluiceSharedLimiter(String url, long perSecond) {
    ceiling = new CeilingLimiter(url, perSecond);
  }

  static SharedLimiter exact(String url, long perSecond) {
    return new SluiceSharedLimiter(url, perSecond);
  }

  static SharedLimiter leased(String url, long perSecond) {
    return new SluiceSharedLimiter(url, perSecond);
  }

  @Override
  public boolean tryConsume() throws Exception {
    return ceiling.tryConsume();
  }

  @Override
  public CompletionStage<Boolean> tryConsumeAsync() {
    return ceiling.tryConsumeAsync();
  }

  @Override
  public boolean tryConsume(String key) throws Exception {
    return ceiling.tryConsume(key);
  }

  @Override
  public void close() {
    ceiling.close();
  }
}
