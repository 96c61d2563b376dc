package dev.sluice.client.internal;

import dev.sluice.proto.v1.Settlement;
import java.util.concurrent.CompletableFuture;

/** Sends settlements to the server, over the call or the stream that delivered the message. */
@FunctionalInterface
public interface Settler {
  CompletableFuture<Void> settle(Settlement settlement);
}
