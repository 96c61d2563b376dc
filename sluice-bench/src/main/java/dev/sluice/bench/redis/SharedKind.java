package dev.sluice.bench.redis;

import java.util.Locale;

/** Sluice's shared limits, their rivals, and the ceiling above all that ask Redis each time. */
public enum SharedKind {
  CEILING {
    @Override
    public SharedLimiter open(String url, long perSecond) {
      return new CeilingLimiter(url, perSecond);
    }
  },
  EXACT {
    @Override
    public SharedLimiter open(String url, long perSecond) {
      return SluiceSharedLimiter.exact(url, perSecond);
    }
  },
  LEASED {
    @Override
    public SharedLimiter open(String url, long perSecond) {
      return SluiceSharedLimiter.leased(url, perSecond);
    }
  },
  BUCKET4J {
    @Override
    public SharedLimiter open(String url, long perSecond) {
      return new Bucket4jSharedLimiter(url, perSecond);
    }
  },
  REDISSON {
    @Override
    public SharedLimiter open(String url, long perSecond) {
      return new RedissonSharedLimiter(url, perSecond);
    }
  };

  /** Connects; every limit has this rate and as large a burst. */
  public abstract SharedLimiter open(String url, long perSecond);

  /** As figures are named. */
  String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
