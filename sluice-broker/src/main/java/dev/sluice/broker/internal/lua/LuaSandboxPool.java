package dev.sluice.broker.internal.lua;

import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Idle sandboxes; one is made where none is at hand, and forgotten where there is no room. */
final class LuaSandboxPool {
  private static final int SLOTS = 64;
  private static final int PROBES = 4;

  private final AtomicReferenceArray<@Nullable LuaSandbox> idle = new AtomicReferenceArray<>(SLOTS);
  private final Supplier<LuaSandbox> factory;

  LuaSandboxPool(Supplier<LuaSandbox> factory) {
    this.factory = factory;
  }

  LuaSandbox take() {
    int start = start();
    for (int i = 0; i < PROBES; i++) {
      LuaSandbox found = idle.getAndSet((start + i) % SLOTS, null);
      if (found != null) {
        return found;
      }
    }
    return factory.get();
  }

  void give(LuaSandbox sandbox) {
    int start = start();
    for (int i = 0; i < PROBES; i++) {
      if (idle.compareAndSet((start + i) % SLOTS, null, sandbox)) {
        return;
      }
    }
  }

  /** A thread comes back to where it was, so that threads seldom meet. */
  private static int start() {
    return (int) (Thread.currentThread().getId() * PROBES % SLOTS);
  }
}
