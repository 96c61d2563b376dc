package dev.sluice.server.transport;

import java.util.concurrent.Executor;

/**
 * The shares that accounts have of the threads of one wire: half of the threads for all calls of an
 * account, and one for its calls that list. These take long (all fairness keys of a queue are
 * visited and sorted, and thousands are written), and no client needs two lists at once. Large
 * requests of an account take turns before they get a thread.
 */
public final class AccountExecutors {
  private final OwnerFairExecutor all;
  private final OwnerFairExecutor lists;
  private final RequestTurns requests = new RequestTurns();

  /** Divides {@code threads} threads. */
  public AccountExecutors(int threads) {
    this.all = new OwnerFairExecutor(threads, threads / 2);
    // No total: a list that waits for its account's share of all calls delays no other account.
    this.lists = new OwnerFairExecutor(Integer.MAX_VALUE, 1);
  }

  /**
   * Returns the threads for a call.
   *
   * @param owner the account, or the connection where the server asks for no keys
   * @param pool the threads that are divided
   * @param isList whether the answer may have thousands of entries
   */
  public Executor of(Object owner, Executor pool, boolean isList) {
    Executor share = all.of(owner, pool);
    return isList ? lists.of(owner, share) : share;
  }

  /** Returns the threads on which long answers to calls that have been executed are made. */
  public Executor forAnswers(Object owner, Executor pool) {
    return all.endingOf(owner, pool);
  }

  /** Returns the turns of the large requests of each account. */
  public RequestTurns requests() {
    return requests;
  }
}
