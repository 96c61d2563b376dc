package dev.sluice.governor;

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
final class LocalBudgetStore implements StandInStore {
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

  private final GovernorTimer timer;
  private final BudgetListener listener;
  private final @Nullable Path directory;
  private final @Nullable FileChannel lock;

  /** What was open elsewhere when this began, from empty; null for a store of its own. */
  private final @Nullable OpenWork begunWith;

  /** Also of models that were removed: what they granted can still be settled. */
  private final Map<String, ModelDesk> everOpened = new HashMap<>();

  private boolean closed;

  /** The configuration that the desks were opened or reloaded with. */
  private BudgetConfig config;

  private volatile Desks desks = new Desks(Map.of(), Map.of());

  /** By the name of the model, and by the tag of its tickets and reservations. */
  private record Desks(Map<String, ModelDesk> byModel, Map<String, ModelDesk> byTag) {}

  private LocalBudgetStore(
      BudgetConfig config,
      BudgetListener listener,
      GovernorTimer timer,
      @Nullable Path directory,
      @Nullable OpenWork begunWith) {
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
  static Opener inMemory(GovernorTimer timer) {
    return (config, listener) -> new LocalBudgetStore(config, listener, timer, null, null);
  }

  /** The same, where nothing is left of anything when it begins, and something is open. */
  static StandInStore standIn(
      GovernorTimer timer, BudgetConfig config, BudgetListener listener, OpenWork open) {
    return new LocalBudgetStore(config, listener, timer, null, open);
  }

  /** Goes on from what is in a directory, and keeps it there. */
  static Opener inDirectory(Path directory, GovernorTimer timer) {
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
    Map<String, ModelDesk> opened = new LinkedHashMap<>();
    try {
      next.models()
          .forEach(
              (model, budget) -> {
                ModelDesk known = everOpened.get(model);
                if (known != null && known.isClosed()) {
                  known.close();
                }
                if (known == null || known.isClosed()) {
                  boolean tolerant = starting || known != null;
                  opened.put(model, open(model, budget, next.rules(), tolerant));
                }
              });
    } catch (RuntimeException failure) {
      opened.values().forEach(ModelDesk::close);
      throw failure;
    }
    config = next;
    everOpened.putAll(opened);
    Map<String, ModelDesk> byModel = new LinkedHashMap<>();
    next.models()
        .forEach(
            (model, budget) -> {
              ModelDesk desk = Objects.requireNonNull(everOpened.get(model));
              if (!opened.containsKey(model)) {
                reload(desk, budget, next.rules());
              }
              byModel.put(model, desk);
            });
    serve(byModel);
  }

  private void serve(Map<String, ModelDesk> byModel) {
    Map<String, ModelDesk> byTag = new HashMap<>();
    everOpened.forEach((model, desk) -> byTag.put(Ids.tagOf(model), desk));
    desks = new Desks(Collections.unmodifiableMap(byModel), byTag);
  }

  /** One that cannot write it down is closed by that, says so, and holds up no other. */
  private static void reload(ModelDesk desk, ModelBudget budget, DeskRules rules) {
    try {
      desk.reload(budget, rules);
    } catch (UncheckedIOException broken) {
      if (!desk.isClosed()) {
        throw broken;
      }
    }
  }

  private ModelDesk open(String model, ModelBudget budget, DeskRules rules, boolean tolerant) {
    ModelDesk desk = new ModelDesk(model, budget, rules, timer, listener);
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

  private void keep(String model, ModelDesk desk) {
    if (directory != null) {
      Path file = directory.resolve(Ids.tagOf(model) + ".journal");
      String boot = bootId();
      desk.keep((books, now) -> DeskJournal.open(file, boot, books, now));
    }
    OpenWork open = begunWith;
    if (open != null) {
      desk.keep(
          (books, now) -> {
            books.line().levels().restart(now);
            open.into(books, now);
            return DeskLog.NONE;
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

  private ModelDesk desk(String model) {
    ModelDesk desk = desks.byModel().get(model);
    if (desk == null) {
      throw StoreTerms.unknownModel(desks.byModel().keySet(), model);
    }
    return desk;
  }

  private Optional<ModelDesk> deskOf(String id) {
    return Optional.ofNullable(desks.byTag().get(Ids.tagIn(id)));
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
  public CompletableFuture<Outcome> request(TokenRequest request) {
    return now(() -> desk(request.model()).request(request));
  }

  @Override
  public CompletableFuture<Optional<Outcome>> tryNow(TokenRequest request) {
    return now(() -> desk(request.model()).tryNow(request));
  }

  @Override
  public CompletableFuture<Optional<Outcome>> find(TokenRequest request) {
    return now(() -> desk(request.model()).find(request));
  }

  @Override
  public CompletableFuture<Optional<Outcome>> poll(String ticket) {
    return now(() -> deskOf(ticket).flatMap(desk -> desk.poll(ticket)));
  }

  @Override
  public CompletableFuture<Optional<Outcome>> await(String ticket) {
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
  public CompletableFuture<Optional<Settlement>> settle(String reservation, long actualTokens) {
    return now(
        () -> {
          StoreTerms.requireActual(actualTokens);
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
  public CompletableFuture<Explanation> explain(TokenRequest request) {
    return now(() -> desk(request.model()).explain(request));
  }

  @Override
  public CompletableFuture<Void> adjust(String model, Adjustment adjustment) {
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
            throw new IllegalStateException("the governor is closed");
          }
          // Whatever cannot be kept is found before anything is changed.
          config.models().values().forEach(each -> new Levels(each.limits(), timer.now()));
          Map<String, ModelDesk> before = desks.byModel();
          openDesks(config, false);
          before.forEach(
              (model, desk) -> {
                if (!config.models().containsKey(model) && !desk.isClosed()) {
                  desk.refuseAll(Outcome.Reason.REMOVED);
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
    Map<String, ModelDesk> byModel = new LinkedHashMap<>(desks.byModel());
    byModel.replaceAll((model, desk) -> desk.mayReopen() ? reopened(model, desk) : desk);
    serve(byModel);
  }

  private ModelDesk reopened(String model, ModelDesk shut) {
    ModelBudget budget = Objects.requireNonNull(config.models().get(model));
    ModelDesk desk = new ModelDesk(model, budget, config.rules(), timer, listener);
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
  public CompletableFuture<ModelQueue> queue(String model, int offset, int limit) {
    return now(
        () -> {
          StoreTerms.requirePage(offset, limit);
          return desk(model).queue(offset, limit);
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
  public synchronized OpenWork handOver() {
    closed = true;
    List<OpenWork.Held> reservations = new ArrayList<>();
    List<OpenWork.Place> tickets = new ArrayList<>();
    for (ModelDesk desk : everOpened.values()) {
      OpenWork open = desk.handOver();
      reservations.addAll(open.reservations());
      tickets.addAll(open.tickets());
    }
    return new OpenWork(reservations, tickets);
  }

  @Override
  public synchronized void close() {
    closed = true;
    everOpened.values().forEach(ModelDesk::close);
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
