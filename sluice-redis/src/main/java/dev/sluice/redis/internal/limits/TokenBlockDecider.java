package dev.sluice.redis.internal.limits;

import dev.sluice.redis.TokenBlockConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Decides about single buckets from blocks of one kind of lease, by the place of the bucket. */
public final class TokenBlockDecider {
  /** More keys than that at a time are decided in Redis. */
  private static final int MAX_HOLDERS = 10_000;

  private static final int ARGUMENTS = 9;

  private final LimitsFleetMember fleet;
  private final RedisDecider decider;
  private final TokenBlockConfig lease;
  private final String ttlMicros;
  private final Supplier<String> ids;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Map<String, BucketTokenBlocks> holders = new ConcurrentHashMap<>();

  public TokenBlockDecider(LimitsFleetMember fleet, TokenBlockConfig lease, Supplier<String> ids) {
    this.fleet = fleet;
    this.decider = new RedisDecider(fleet);
    this.lease = lease;
    this.ttlMicros = Long.toString(TimeUnit.NANOSECONDS.toMicros(lease.lifetime().toNanos()));
    this.ids = ids;
  }

  /**
   * Takes tokens from a block, if there is one; what is left of it, or {@link TokenBlock#NOTHING}.
   *
   * @param under what the limit was found by, as for {@link #answer}
   */
  long take(String place, Object under, long tokens) {
    BucketTokenBlocks holder = holders.get(place);
    String time = holder == null ? null : fleet.connection().allPresent();
    if (holder == null || time == null) {
      return TokenBlock.NOTHING;
    }
    long left = holder.take(under, time, tokens);
    return left < 0 ? left : taken(holder, time, place, left);
  }

  /**
   * Asks for the next block in time; {@link TokenBlock#NOTHING} if blocks must not be used any
   * more.
   */
  @SuppressWarnings("FutureReturnValueIgnored") // the holder is told
  private long taken(BucketTokenBlocks holder, String time, String place, long left) {
    if (!time.equals(fleet.connection().allPresent())) {
      // This thread was paused meanwhile; the tokens are lost.
      return TokenBlock.NOTHING;
    }
    fleet.counts().leased.increment();
    if (holder.isLow(left)) {
      BucketTokenBlocks.BlockRequest request = holder.begin(0, time);
      if (request != null) {
        send(place, holder, request);
      }
    }
    return left;
  }

  /**
   * Answers a question about one bucket: from a block, or Redis does, which may lend one.
   *
   * @param under what the limit was found by; another object may mean another limit
   * @param version of the rules it was found in
   */
  <T> CompletableFuture<T> answer(
      RedisDecider.BucketRequest<T> question, Object under, long version) {
    BucketDemand demand = question.demands().get(0);
    BucketTokenBlocks holder = holder(demand, under, version);
    String time = fleet.connection().allPresent();
    if (holder == null || time == null) {
      return decider.answer(question);
    }
    holder.forgetOthers(time);
    if (holder.isOut()) {
      return decider.answer(question);
    }
    long left = holder.takeNext(demand.tokens());
    if (left >= 0 && taken(holder, time, demand.place(), left) >= 0) {
      return Futures.now(question.read(RedisDecider.ScriptDecision.granted(left)));
    }
    BucketTokenBlocks.BlockRequest request = holder.begin(demand.tokens(), time);
    return request == null
        ? decider.answer(question)
        : decider.answer(question, send(demand.place(), holder, request));
  }

  private @Nullable BucketTokenBlocks holder(BucketDemand demand, Object under, long version) {
    BucketTokenBlocks known = holders.get(demand.place());
    if (known != null && known.terms().under() == under) {
      return known;
    }
    TokenBlockSize terms = TokenBlockSize.of(lease, under, version, demand.quota());
    if (known != null) {
      known.follow(terms);
      return known;
    }
    if (closed.get() || !terms.suits(demand.tokens()) || holders.size() >= MAX_HOLDERS) {
      return null;
    }
    return holders.computeIfAbsent(
        demand.place(),
        absent -> new BucketTokenBlocks(lease, terms, fleet.connection()::nanoTime, ids));
  }

  @SuppressWarnings("FutureReturnValueIgnored") // what it leads to is the answer
  private CompletableFuture<List<Object>> send(
      String place, BucketTokenBlocks holder, BucketTokenBlocks.BlockRequest request) {
    CompletableFuture<List<Object>> answer = new CompletableFuture<>();
    TokenBlockSize terms = request.terms();
    String[] arguments = arguments(request.closing(), terms);
    arguments[2] = Long.toString(request.tokens());
    arguments[3] = Long.toString(terms.block());
    arguments[4] = Long.toString(terms.reserveUnits());
    arguments[5] = ttlMicros;
    arguments[6] = request.id();
    fleet
        .connection()
        .call(LimitScript.TOKEN_BLOCK, new String[] {place}, arguments)
        .whenComplete(
            (reply, failure) -> {
              if (failure == null) {
                decider.lookAtVersion(reply);
                List<Object> settled = holder.settle(request, reply);
                tell(place, terms, holder.lastClosings());
                answer.complete(settled);
              } else {
                holder.fail();
                answer.completeExceptionally(failure);
              }
            });
    return answer;
  }

  private static String[] arguments(
      BucketTokenBlocks.@Nullable BlockReturn closing, TokenBlockSize terms) {
    String[] arguments = new String[ARGUMENTS];
    arguments[0] = closing == null ? "" : closing.id();
    arguments[1] = closing == null ? "0" : Long.toString(closing.unused());
    arguments[7] = Long.toString(terms.version());
    arguments[8] = terms.quota().params();
    return arguments;
  }

  /** Closes blocks; what Redis does not hear of counts as used. */
  private CompletableFuture<Void> tell(
      String place, TokenBlockSize terms, List<BucketTokenBlocks.BlockReturn> closings) {
    List<CompletableFuture<?>> told = new ArrayList<>(closings.size());
    for (BucketTokenBlocks.BlockReturn closing : closings) {
      String[] arguments = arguments(closing, terms);
      arguments[2] = "0";
      arguments[3] = "0";
      arguments[4] = "0";
      arguments[5] = "0";
      arguments[6] = "";
      told.add(fleet.connection().call(LimitScript.TOKEN_BLOCK, new String[] {place}, arguments));
    }
    return CompletableFuture.allOf(told.toArray(CompletableFuture[]::new))
        .exceptionally(lost -> null);
  }

  /** Looks after all blocks: returns what is not used, forgets who holds none. */
  public @SuppressWarnings("FutureReturnValueIgnored") // a return that Redis misses counts as used
  void sweep() {
    if (!fleet.connection().state().asksRedis()) {
      // Redis cannot take blocks back now; they are used until their deadline.
      return;
    }
    holders.forEach(
        (place, holder) -> {
          List<BucketTokenBlocks.BlockReturn> closings = holder.sweep();
          if (!closings.isEmpty()) {
            tell(place, holder.terms(), closings);
          }
          if (holder.leaveIfUnused()) {
            holders.remove(place, holder);
          }
        });
  }

  /** Returns all blocks, and takes no more. */
  public CompletableFuture<Void> leave() {
    closed.set(true);
    List<CompletableFuture<?>> told = new ArrayList<>();
    holders.forEach((place, holder) -> told.add(tell(place, holder.terms(), holder.leave())));
    return CompletableFuture.allOf(told.toArray(CompletableFuture[]::new));
  }
}
