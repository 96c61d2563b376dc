package dev.sluice.verify;

import dev.sluice.Limit;
import dev.sluice.TokenBucket;

/** The bucket under test: the real one, or one that is broken on purpose. */
interface Bucket {

  boolean tryAcquire(long tokens);

  default long available() {
    throw new UnsupportedOperationException();
  }

  default void replenish(long tokens) {
    throw new UnsupportedOperationException();
  }

  default void reset() {
    throw new UnsupportedOperationException();
  }

  default void reconfigure(Limit limit) {
    throw new UnsupportedOperationException();
  }

  /** The real one. */
  record Real(TokenBucket bucket) implements Bucket {
    @Override
    public boolean tryAcquire(long tokens) {
      return bucket.tryAcquire(tokens);
    }

    @Override
    public long available() {
      return bucket.available();
    }

    @Override
    public void replenish(long tokens) {
      bucket.replenish(tokens);
    }

    @Override
    public void reset() {
      bucket.reset();
    }

    @Override
    public void reconfigure(Limit limit) {
      bucket.reconfigure(limit);
    }
  }
}
