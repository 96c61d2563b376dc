package dev.sluice.server.operations;

import dev.sluice.broker.Broker;
import dev.sluice.broker.EnqueueCaller;
import dev.sluice.broker.Message;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.WatchedCall;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.Futures;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/*
 * The watch decides between the end of the key and the storing of the messages: whichever comes
 * first. So a call that is refused because its key has ended stores nothing, and one that is about
 * to be stored is answered as such. A call that waits for no hook is past that when enqueueAll
 * returns, and is never watched.
 */

/** One enqueue call, which ends with its key while it waits for a hook. */
final class WatchedEnqueue implements EnqueueCaller {
  private final Credential key;
  private final WatchedCall watch;

  /** Completed with the reason when the key ends. */
  private final CompletableFuture<ApiException> ended = new CompletableFuture<>();

  WatchedEnqueue(Credential key) {
    this.key = key;
    this.watch = key.unstarted(ended::complete);
  }

  @Override
  public @Nullable String account() {
    Object account = key.account();
    return account == null ? null : account.toString();
  }

  @Override
  public boolean mayStore() {
    return watch.finish();
  }

  CompletableFuture<List<UUID>> start(Broker broker, String queue, List<Message> messages) {
    CompletableFuture<List<UUID>> stored = broker.enqueueAll(queue, messages, this);
    Futures.when(ended, stored::completeExceptionally, unused -> {});
    if (!stored.isDone()) {
      watch.start();
      Futures.whenOver(stored, watch::close);
    }
    return stored;
  }
}
