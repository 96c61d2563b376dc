package dev.sluice.governor.internal.local;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.governor.internal.engine.GrantLog;
import dev.sluice.governor.internal.engine.ModelBuckets;
import dev.sluice.governor.internal.engine.Snapshots;
import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.governor.spi.ModelLimits;
import dev.sluice.governor.spi.OutageBudgetStore;
import dev.sluice.governor.spi.StoreClosedException;
import dev.sluice.governor.spi.StoreSnapshot;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.governor.spi.TicketIds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Budgets in this process, with a {@link LocalModelStore} for each model. */
public final class LocalBudgetStore implements OutageBudgetStore {
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

  private final StoreTimer timer;
  private final BudgetListener listener;
  private final @Nullable Path directory;
  private final @Nullable FileChannel lock;

  /** The open work of another store, with which this one started; null without one. */
  private final @Nullable StoreSnapshot initialState;

  /** Includes removed models, whose grants can still be settled. */
  private final Map<String, LocalModelStore> everOpened = new HashMap<>();

  private boolean closed;

  /** The configuration with which the models were opened or reloaded. */
  private BudgetConfig config;

  private volatile LocalBudgetStore.ModelStores modelStores =
      new LocalBudgetStore.ModelStores(Map.of(), Map.of());

  /** Finds a store by the name of its model, and by the tag of its tickets and reservations. */
  private record ModelStores(
      Map<String, LocalModelStore> byModel, Map<String, LocalModelStore> byTag) {}

  private LocalBudgetStore(
      BudgetConfig config,
      BudgetListener listener,
      StoreTimer timer,
      @Nullable Path directory,
      @Nullable StoreSnapshot initialState) {
    this.listener = listener;
    this.timer = timer;
    this.initialState = initialState;
    this.directory = directory;
    this.config = config;
    this.lock = directory == null ? null : lock(directory);
    try {
      openModelStores(config, true);
    } catch (RuntimeException failure) {
      close();
      throw failure;
    }
  }

  /** Returns a factory of stores that forget everything when they are closed. */
  public static BudgetStore.Factory inMemory(StoreTimer timer) {
    return (config, listener) -> new LocalBudgetStore(config, listener, timer, null, null);
  }

  /**
   * Opens budgets in this process for a store that does not answer for a while. They begin empty.
   *
   * @param timer closed with the store
   * @param config the models
   * @param listener receives the decisions
   * @param open the open reservations and tickets at the start: reservations take slots and are
   *     refunded nothing, tickets wait in this order
   * @return to be ended by {@link OutageBudgetStore#handOver}
   */
  public static OutageBudgetStore forOutage(
      StoreTimer timer, BudgetConfig config, BudgetListener listener, StoreSnapshot open) {
    return new LocalBudgetStore(config, listener, timer, null, open);
  }

  /** Returns a factory of stores that restore their state from a directory, and keep it there. */
  public static BudgetStore.Factory inDirectory(Path directory, StoreTimer timer) {
    return (config, listener) -> new LocalBudgetStore(config, listener, timer, directory, null);
  }

  private static FileChannel lock(Path directory) {
    try {
      Files.createDirectories(directory, ownerOnly(directory));
      FileChannel channel =
          FileChannel.open(
              directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      if (!isLocked(channel)) {
        channel.close();
        throw new IllegalStateException(directory + " is in use by another governor");
      }
      return channel;
    } catch (IOException failure) {
      throw new UncheckedIOException(
          "the governor cannot use %s: %s".formatted(directory, failure), failure);
    }
  }

  /** The mode of a new directory; an existing one keeps its own, as it may hold other files. */
  private static FileAttribute<?>[] ownerOnly(Path directory) {
    return directory.getFileSystem().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
        }
        : new FileAttribute<?>[0];
  }

  private static boolean isLocked(FileChannel channel) throws IOException {
    try {
      return channel.tryLock() != null;
    } catch (OverlappingFileLockException here) {
      return false;
    }
  }

  // ---- models

  /**
   * Opens the models of {@code next}, and reloads those that are open. Everything that may fail
   * comes first, so that a failure changes nothing.
   *
   * @param starting whether a model that cannot be opened is closed with the reason instead of
   *     failing the call; a model that was closed before always is
   */
  private void openModelStores(BudgetConfig next, boolean starting) {
    Map<String, LocalModelStore> opened = new LinkedHashMap<>();
    try {
      next.models()
          .forEach(
              (model, budget) -> {
                LocalModelStore known = everOpened.get(model);
                if (known != null && known.isClosed()) {
                  known.close();
                }
                if (known == null || known.isClosed()) {
                  boolean tolerant = starting || known != null;
                  opened.put(model, open(model, budget, next.waitingList(), tolerant));
                }
              });
    } catch (RuntimeException failure) {
      opened.values().forEach(LocalModelStore::close);
      throw failure;
    }
    config = next;
    everOpened.putAll(opened);
    Map<String, LocalModelStore> byModel = new LinkedHashMap<>();
    next.models()
        .forEach(
            (model, budget) -> {
              LocalModelStore modelStore = Objects.requireNonNull(everOpened.get(model));
              if (!opened.containsKey(model)) {
                reload(modelStore, budget, next.waitingList());
              }
              byModel.put(model, modelStore);
            });
    publish(byModel);
  }

  private void publish(Map<String, LocalModelStore> byModel) {
    Map<String, LocalModelStore> byTag = new HashMap<>();
    everOpened.forEach((model, modelStore) -> byTag.put(TicketIds.tagOf(model), modelStore));
    modelStores = new LocalBudgetStore.ModelStores(Collections.unmodifiableMap(byModel), byTag);
  }

  /** Reloads a model; a failed write to its journal closes this model alone. */
  private static void reload(
      LocalModelStore modelStore, ModelBudget budget, WaitingListConfig config) {
    try {
      modelStore.reload(budget, config);
    } catch (UncheckedIOException broken) {
      if (!modelStore.isClosed()) {
        throw broken;
      }
    }
  }

  private LocalModelStore open(
      String model, ModelBudget budget, WaitingListConfig config, boolean tolerant) {
    LocalModelStore modelStore = new LocalModelStore(model, budget, config, timer, listener);
    try {
      attachState(model, modelStore);
    } catch (UncheckedIOException | IllegalStateException unreadable) {
      if (!tolerant) {
        throw unreadable;
      }
      modelStore.closeUnreadable(unreadable);
    }
    return modelStore;
  }

  private void attachState(String model, LocalModelStore modelStore) {
    if (directory != null) {
      Path file = directory.resolve(TicketIds.tagOf(model) + ".journal");
      String boot = bootId();
      modelStore.attachLog((state, now) -> ModelJournal.open(file, boot, state, now));
    }
    StoreSnapshot open = initialState;
    if (open != null) {
      modelStore.attachLog(
          (state, now) -> {
            state.waitingList().buckets().restart(now);
            Snapshots.restore(open, state, now);
            return GrantLog.NONE;
          });
    }
  }

  private static String bootId() {
    try {
      return Files.readString(BOOT_ID).trim();
    } catch (IOException notLinux) {
      return "";
    }
  }

  private LocalModelStore modelStore(String model) {
    LocalModelStore modelStore = modelStores.byModel().get(model);
    if (modelStore == null) {
      throw BudgetStoreSupport.unknownModel(modelStores.byModel().keySet(), model);
    }
    return modelStore;
  }

  private Optional<LocalModelStore> modelStoreOf(String id) {
    return Optional.ofNullable(modelStores.byTag().get(TicketIds.tagIn(id)));
  }

  // ---- what they are asked for

  private static <T> CompletableFuture<T> now(Supplier<T> decision) {
    try {
      return CompletableFuture.completedFuture(decision.get());
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
  }

  @Override
  public CompletableFuture<TokenDecision> request(TokenRequest request) {
    return now(() -> modelStore(request.model()).request(request));
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> tryAcquire(TokenRequest request) {
    return now(() -> modelStore(request.model()).tryAcquire(request));
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> find(TokenRequest request) {
    return now(() -> modelStore(request.model()).find(request));
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> poll(String ticket) {
    return now(() -> modelStoreOf(ticket).flatMap(modelStore -> modelStore.poll(ticket)));
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> await(String ticket) {
    try {
      return modelStoreOf(ticket)
          .map(modelStore -> modelStore.await(ticket))
          .orElseGet(() -> CompletableFuture.completedFuture(Optional.empty()));
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
  }

  @Override
  public CompletableFuture<Boolean> cancel(String ticket) {
    return now(
        () -> modelStoreOf(ticket).map(modelStore -> modelStore.cancel(ticket)).orElse(false));
  }

  @Override
  public CompletableFuture<Optional<TokenSettlement>> settle(
      String reservation, long actualTokens) {
    return now(
        () -> {
          BudgetStoreSupport.requireActual(actualTokens);
          return modelStoreOf(reservation)
              .flatMap(modelStore -> modelStore.settle(reservation, actualTokens));
        });
  }

  @Override
  public CompletableFuture<Boolean> extend(String reservation) {
    return now(
        () ->
            modelStoreOf(reservation)
                .map(modelStore -> modelStore.extend(reservation))
                .orElse(false));
  }

  @Override
  public CompletableFuture<Optional<TokenOwner>> owner(String id) {
    return now(() -> modelStoreOf(id).flatMap(modelStore -> modelStore.owner(id)));
  }

  @Override
  public CompletableFuture<TokenExplanation> explain(TokenRequest request) {
    return now(() -> modelStore(request.model()).explain(request));
  }

  @Override
  public CompletableFuture<Void> adjust(String model, ProviderAdjustment adjustment) {
    return now(
        () -> {
          modelStore(model).adjust(adjustment);
          return null;
        });
  }

  @Override
  public synchronized CompletableFuture<Void> reload(BudgetConfig config) {
    return now(
        () -> {
          if (closed) {
            throw new StoreClosedException("the governor is closed");
          }
          // Invalid limits are found before anything is changed.
          config
              .models()
              .values()
              .forEach(each -> new ModelBuckets(ModelLimits.of(each), timer.nanoTime()));
          Map<String, LocalModelStore> before = modelStores.byModel();
          openModelStores(config, false);
          before.forEach(
              (model, modelStore) -> {
                if (!config.models().containsKey(model) && !modelStore.isClosed()) {
                  modelStore.denyAll(TokenDecision.Reason.REMOVED);
                }
              });
          return null;
        });
  }

  /** Tries to reopen the closed models, because a full disk may have space again. */
  @Override
  public synchronized void reopen() {
    if (closed || closedModels().isEmpty()) {
      return;
    }
    Map<String, LocalModelStore> byModel = new LinkedHashMap<>(modelStores.byModel());
    byModel.replaceAll(
        (model, modelStore) -> modelStore.mayReopen() ? reopened(model, modelStore) : modelStore);
    publish(byModel);
  }

  private LocalModelStore reopened(String model, LocalModelStore shut) {
    ModelBudget budget = Objects.requireNonNull(config.models().get(model));
    LocalModelStore modelStore =
        new LocalModelStore(model, budget, config.waitingList(), timer, listener);
    try {
      shut.close();
      attachState(model, modelStore);
      everOpened.put(model, modelStore);
      return modelStore;
    } catch (UncheckedIOException | IllegalStateException still) {
      return shut;
    }
  }

  @Override
  public Map<String, String> closedModels() {
    Map<String, String> reasons = new LinkedHashMap<>();
    modelStores
        .byModel()
        .forEach(
            (model, modelStore) -> {
              String why = modelStore.closedReason();
              if (why != null) {
                reasons.put(model, why);
              }
            });
    return reasons;
  }

  @Override
  public CompletableFuture<WaitingListStatus> waitingList(String model, int offset, int limit) {
    return now(
        () -> {
          BudgetStoreSupport.requirePage(offset, limit);
          return modelStore(model).waitingList(offset, limit);
        });
  }

  @Override
  public CompletableFuture<GovernorStatus> status() {
    return now(
        () -> {
          Map<String, GovernorStatus.Model> buckets = new LinkedHashMap<>();
          modelStores
              .byModel()
              .forEach(
                  (model, modelStore) ->
                      modelStore.status().ifPresent(now -> buckets.put(model, now)));
          return new GovernorStatus(buckets, closedModels(), Instant.now());
        });
  }

  @Override
  public void undelivered(String ticket) {
    modelStoreOf(ticket).ifPresent(modelStore -> modelStore.undelivered(ticket));
  }

  @Override
  public synchronized StoreSnapshot handOver() {
    closed = true;
    List<StoreSnapshot.OpenReservation> reservations = new ArrayList<>();
    List<StoreSnapshot.OpenTicket> tickets = new ArrayList<>();
    for (LocalModelStore modelStore : everOpened.values()) {
      StoreSnapshot open = modelStore.handOver();
      reservations.addAll(open.reservations());
      tickets.addAll(open.tickets());
    }
    return new StoreSnapshot(reservations, tickets);
  }

  @Override
  public synchronized void close() {
    closed = true;
    everOpened.values().forEach(LocalModelStore::close);
    timer.close();
    if (lock != null) {
      try {
        lock.close();
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
  }
}
