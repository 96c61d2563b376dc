package dev.sluice.redis;

import dev.sluice.internal.bucket.LimitUnits;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Computes in plain arithmetic how a bucket with token blocks must behave, at the times of Redis.
 */
final class TokenBlockModel {
  static final long MAX_BLOCKS = 64;

  private final LimitUnits units;
  private final List<Block> blocks = new ArrayList<>();
  private long debt;
  private long at;

  record Block(String id, long tokens, long ends) {}

  TokenBlockModel(LimitUnits units) {
    this.units = units;
  }

  /** Lets time pass; the blocks that end meanwhile, all of them used. */
  List<Block> advance(long now) {
    List<Block> ended =
        blocks.stream()
            .filter(block -> block.ends() <= now)
            .sorted(Comparator.comparingLong(Block::ends))
            .toList();
    for (Block block : ended) {
      accrue(block.ends());
      blocks.remove(block);
    }
    accrue(now);
    return ended;
  }

  private void accrue(long now) {
    long steps = now / units.stepTicks() - at / units.stepTicks();
    at = now;
    long floor = leasedUnits();
    if (units.unitsPerStep() > 0 && steps >= (debt - floor) / units.unitsPerStep() + 1) {
      debt = floor;
    } else {
      debt = Math.max(floor, debt - steps * units.unitsPerStep());
    }
  }

  long leasedUnits() {
    return blocks.stream().mapToLong(Block::tokens).sum() * units.unitsPerToken();
  }

  long level() {
    return units.capacityUnits() - debt;
  }

  /** Closes a block, if it is out; how many of its tokens were used. */
  long close(String id, long unused) {
    for (Block block : List.copyOf(blocks)) {
      if (block.id().equals(id)) {
        blocks.remove(block);
        debt -= unused * units.unitsPerToken();
        return block.tokens() - unused;
      }
    }
    return 0;
  }

  /** Tokens of a block that may be lent; 0 for none. */
  long lend(long asked, long wanted, long reserve, String id, long ends) {
    long free = level() - reserve;
    long tokens = free <= 0 ? 0 : Math.min(wanted, free / units.unitsPerToken());
    if (tokens < 2 || tokens < 2 * asked || blocks.size() >= MAX_BLOCKS) {
      return 0;
    }
    debt += tokens * units.unitsPerToken();
    blocks.add(new Block(id, tokens, ends));
    return tokens;
  }

  /** The code of the script's answer. */
  long take(long tokens) {
    long cost = tokens * units.unitsPerToken();
    if (cost > units.capacityUnits()) {
      return 3;
    }
    if (tokens > 0 && cost > level()) {
      return units.refills() ? 0 : 2;
    }
    debt += cost;
    return 1;
  }

  void give(long tokens) {
    debt = Math.max(leasedUnits(), debt - tokens * units.unitsPerToken());
  }
}
