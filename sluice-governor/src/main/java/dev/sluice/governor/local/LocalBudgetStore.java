package dev.sluice.governor.local;

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
import dev.sluice.governor.engine.GrantLog;
import dev.sluice.governor.engine.ModelBuckets;
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

/** Budgets in this process: a desk for each model. */
public final class LocalBudgetStore implements OutageBudgetStore {
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

  private final StoreTimer timer;
  private final BudgetListener listener;
  private final @Nullable Path directory;
  private final @Nullable FileChannel lock;

  /** Open work of another store with which this one began, empty; null without one. */
  private final @Nullable StoreSnapshot begunWith;

  /** Also of models that were removed: what they granted can still be settled. */
  private final Map<String, LocalModelStore> everOpened = new HashMap<>();

  private boolean closed;

  /** The configuration that the desks were opened or reloaded with. */
  private BudgetConfig config;

  private volatile LocalBudgetStore.ModelStores desks =
      new LocalBudgetStore.ModelStores(Map.of(), Map.of());

  /** By the name of the model, and by the tag of its tickets and reservations. */
  private record ModelStores(
      Map<String, LocalModelStore> byModel, Map<String, LocalModelStore> byTag) {}

  private LocalBudgetStore(
      BudgetConfig config,
      BudgetListener listener,
      StoreTimer timer,
      @Nullable Path directory,
      @Nullable StoreSnapshot begunWith) {
    this.listener = listener;
    this.timer = timer;
    this.begunWith = begunWith;
    this.directory = directory;
    this.config = config;
    this.lock = directory == null ? null : lock(directory);
    try {
      openDesks(config, true);
    } catch (RuntimeException failure) {
      close();
      throw failure;
    }
  }

  /** Forgets everything when it is closed. */
  public static BudgetStore.Factory inMemory(StoreTimer timer) {
    return (config, listener) -> new LocalBudgetStore(config, listener, timer, null, null);
  }

  /** The same, where nothing is left of anything when it begins, and something is open. */
  public static OutageBudgetStore standIn(
      StoreTimer timer, BudgetConfig config, BudgetListener listener, StoreSnapshot open) {
    return new LocalBudgetStore(config, listener, timer, null, open);
  }

  /** Goes on from what is in a directory, and keeps it there. */
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

  // ---- desks

  /**
   * Opens the desks of {@code next}, and reloads those that are open. Everything that may fail
   * comes first, so that a failure changes nothing.
   *
   * @param starting whether a model that cannot be opened is closed with the reason instead of
   *     failing the call; a model that was closed before always is
   */
  private void openDesks(BudgetConfig next, boolean starting) {
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
              LocalModelStore desk = Objects.requireNonNull(everOpened.get(model));
              if (!opened.containsKey(model)) {
                reload(desk, budget, next.waitingList());
              }
              byModel.put(model, desk);
            });
    serve(byModel);
  }

  private void serve(Map<String, LocalModelStore> byModel) {
    Map<String, LocalModelStore> byTag = new HashMap<>();
    everOpened.forEach((model, desk) -> byTag.put(TicketIds.tagOf(model), desk));
    desks = new LocalBudgetStore.ModelStores(Collections.unmodifiableMap(byModel), byTag);
  }

  /** One that cannot write it down is closed by that, says so, and holds up no other. */
  private static void reload(LocalModelStore desk, ModelBudget budget, WaitingListConfig rules) {
    try {
      desk.reload(budget, rules);
    } catch (UncheckedIOException broken) {
      if (!desk.isClosed()) {
        throw broken;
      }
    }
  }

  private LocalModelStore open(
      String model, ModelBudget budget, WaitingListConfig rules, boolean tolerant) {
    LocalModelStore desk = new LocalModelStore(model, budget, rules, timer, listener);
    try {
      keep(model, desk);
    } catch (UncheckedIOException | IllegalStateException unreadable) {
      if (!tolerant) {
        throw unreadable;
      }
      desk.shut(unreadable);
    }
    return desk;
  }

  private void keep(String model, LocalModelStore desk) {
    if (directory != null) {
      Path file = directory.resolve(TicketIds.tagOf(model) + ".journal");
      String boot = bootId();
      desk.keep((books, now) -> ModelJournal.open(file, boot, books, now));
    }
    StoreSnapshot open = begunWith;
    if (open != null) {
      desk.keep(
          (books, now) -> {
            books.line().levels().restart(now);
            open.into(books, now);
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

  private LocalModelStore desk(String model) {
    LocalModelStore desk = desks.byModel().get(model);
    if (desk == null) {
      throw BudgetStoreSupport.unknownModel(desks.byModel().keySet(), model);
    }
    return desk;
  }

  private Optional<LocalModelStore> deskOf(String id) {
    return Optional.ofNullable(desks.byTag().get(TicketIds.tagIn(id)));
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
    return now(() -> desk(request.model()).request(request));
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> tryAcquire(TokenRequest request) {
    return now(() -> desk(request.model()).tryAcquire(request));
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> find(TokenRequest request) {
    return now(() -> desk(request.model()).find(request));
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> poll(String ticket) {
    return now(() -> deskOf(ticket).flatMap(desk -> desk.poll(ticket)));
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> await(String ticket) {
    try {
      return deskOf(ticket)
          .map(desk -> desk.await(ticket))
          .orElseGet(() -> CompletableFuture.completedFuture(Optional.empty()));
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
  }

  @Override
  public CompletableFuture<Boolean> cancel(String ticket) {
    return now(() -> deskOf(ticket).map(desk -> desk.cancel(ticket)).orElse(false));
  }

  @Override
  public CompletableFuture<Optional<TokenSettlement>> settle(
      String reservation, long actualTokens) {
    return now(
        () -> {
          BudgetStoreSupport.requireActual(actualTokens);
          return deskOf(reservation).flatMap(desk -> desk.settle(reservation, actualTokens));
        });
  }

  @Override
  public CompletableFuture<Boolean> extend(String reservation) {
    return now(() -> deskOf(reservation).map(desk -> desk.extend(reservation)).orElse(false));
  }

  @Override
  public CompletableFuture<Optional<TokenOwner>> owner(String id) {
    return now(() -> deskOf(id).flatMap(desk -> desk.owner(id)));
  }

  @Override
  public CompletableFuture<TokenExplanation> explain(TokenRequest request) {
    return now(() -> desk(request.model()).explain(request));
  }

  @Override
  public CompletableFuture<Void> adjust(String model, ProviderAdjustment adjustment) {
    return now(
        () -> {
          desk(model).adjust(adjustment);
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
          Map<String, LocalModelStore> before = desks.byModel();
          openDesks(config, false);
          before.forEach(
              (model, desk) -> {
                if (!config.models().containsKey(model) && !desk.isClosed()) {
                  desk.refuseAll(TokenDecision.Reason.REMOVED);
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
    Map<String, LocalModelStore> byModel = new LinkedHashMap<>(desks.byModel());
    byModel.replaceAll((model, desk) -> desk.mayReopen() ? reopened(model, desk) : desk);
    serve(byModel);
  }

  private LocalModelStore reopened(String model, LocalModelStore shut) {
    ModelBudget budget = Objects.requireNonNull(config.models().get(model));
    LocalModelStore desk =
        new LocalModelStore(model, budget, config.waitingList(), timer, listener);
    try {
      shut.close();
      keep(model, desk);
      everOpened.put(model, desk);
      return desk;
    } catch (UncheckedIOException | IllegalStateException still) {
      return shut;
    }
  }

  @Override
  public Map<String, String> closedModels() {
    Map<String, String> reasons = new LinkedHashMap<>();
    desks
        .byModel()
        .forEach(
            (model, desk) -> {
              String why = desk.whyClosed();
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
          return desk(model).waitingList(offset, limit);
        });
  }

  @Override
  public CompletableFuture<GovernorStatus> status() {
    return now(
        () -> {
          Map<String, GovernorStatus.Model> buckets = new LinkedHashMap<>();
          desks
              .byModel()
              .forEach((model, desk) -> desk.status().ifPresent(now -> buckets.put(model, now)));
          return new GovernorStatus(buckets, closedModels(), Instant.now());
        });
  }

  @Override
  public void unheard(String ticket) {
    deskOf(ticket).ifPresent(desk -> desk.unheard(ticket));
  }

  @Override
  public synchronized StoreSnapshot handOver() {
    closed = true;
    List<StoreSnapshot.OpenReservation> reservations = new ArrayList<>();
    List<StoreSnapshot.OpenTicket> tickets = new ArrayList<>();
    for (LocalModelStore desk : everOpened.values()) {
      StoreSnapshot open = desk.handOver();
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
