package dev.sluice.bench;

import java.util.Locale;

/** Sluice's shared limits, their rivals, and the ceiling above all that ask Redis each time. */
enum SharedKind {
  CEILING {
    @Override
    SharedLimiter open(String url, long perSecond) {
      return new CeilingLimiter(url, perSecond);
    }
  },
  EXACT {
    @Override
    SharedLimiter open(String url, long perSecond) {
      return SluiceSharedLimiter.exact(url, perSecond);
    }
  },
  LEASED {
    @Override
    SharedLimiter open(String url, long perSecond) {
      return SluiceSharedLimiter.leased(url, perSecond);
    }
  },
  BUCKET4J {
    @Override
    SharedLimiter open(String url, long perSecond) {
      return new Bucket4jSharedLimiter(url, perSecond);
    }
  },
  REDISSON {
    @Override
    SharedLimiter open(String url, long perSecond) {
      return new RedissonSharedLimiter(url, perSecond);
    }
  };

  /** Connects; every limit has this rate and as large a burst. */
  abstract SharedLimiter open(String url, long perSecond);

  /** As figures are named. */
  String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
