package dev.sluice.bench.redis;

import java.util.List;
import java.util.concurrent.CompletionStage;

/** A limiter under test whose state is in Redis; every limit of it has the same rate. */
public interface SharedLimiter extends AutoCloseable {

  /** One token of the limit that all share, now or not at all. */
  boolean tryConsume() throws Exception;

  /** The same without waiting for the answer. */
  CompletionStage<Boolean> tryConsumeAsync();

  /** One token of this key's limit, now or not at all. */
  boolean tryConsume(String key) throws Exception;

  /** Called once with the keys that will be asked for. */
  default void prepare(List<String> keys) throws Exception {}

  /** Returns further results of the run. */
  default String notes() {
    return "";
  }

  @Override
  public void close();
}
