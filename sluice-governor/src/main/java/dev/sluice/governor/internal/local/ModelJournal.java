package dev.sluice.governor.internal.local;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.internal.engine.DebtBucket;
import dev.sluice.governor.internal.engine.GrantLog;
import dev.sluice.governor.internal.engine.ModelBuckets;
import dev.sluice.governor.internal.engine.ModelState;
import dev.sluice.governor.internal.engine.ModelWaitingList;
import dev.sluice.governor.internal.engine.OpenGrant;
import dev.sluice.governor.internal.engine.OpenGrants;
import dev.sluice.governor.internal.engine.RefundBounds;
import dev.sluice.governor.internal.engine.Reservation;
import dev.sluice.governor.internal.engine.Ticket;
import dev.sluice.governor.internal.engine.TokenDemand;
import dev.sluice.governor.spi.ModelLimits;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Grants, and what became of them, in a file. Replayed at the same times they give the same levels:
 * a restart is no fresh burst. Where times cannot be compared, on a machine that was started anew
 * or after a cut end, there is nothing left of any budget at first. Not thread-safe.
 */
public final class ModelJournal implements GrantLog {
  private static final int VERSION = 1;
  private static final long SMALL_BYTES = 4 << 20;

  /** Kinds of records; their numbers are in files. */
  private static final int OPENED = 1;

  private static final int LEVEL = 2;
  private static final int HELD = 3;
  private static final int GRANTED = 4;
  private static final int SETTLED = 5;
  private static final int ENDED = 6;
  private static final int EXTENDED = 7;

  private final Journal journal;
  private final String model;
  private final String boot;
  private String limits;
  private long tidyAt = SMALL_BYTES;

  private ModelJournal(Journal journal, String model, String boot, String limits) {
    this.journal = journal;
    this.model = model;
    this.boot = boot;
    this.limits = limits;
  }

  /**
   * Reads what there is.
   *
   * <p>A new file beside one that was renamed as damaged begins with an empty budget, because it is
   * not known what was granted.
   *
   * @param boot what a start of the machine is called; empty if that is not known
   * @param into the state of a new store, which has the open grants afterwards
   */
  static ModelJournal open(Path file, String boot, ModelState into, long now) {
    boolean replacesDamaged = Files.notExists(file) && Files.exists(Journal.damaged(file));
    Replay replay = new Replay(into);
    Journal journal = Journal.open(file, replay::read);
    String limits = ModelLimits.of(into.budget()).fingerprint();
    ModelJournal log = new ModelJournal(journal, into.model(), boot, limits);
    boolean comparable =
        !boot.isEmpty()
            && boot.equals(replay.boot)
            && limits.equals(replay.limits)
            && replay.latest <= now
            && !journal.wasCut();
    if (replay.boot != null || journal.wasCut() || replacesDamaged) {
      replay.finish(comparable, !boot.isEmpty() && boot.equals(replay.boot), now);
    }
    try {
      log.rewrite(into.waitingList(), into.grants(), now);
    } catch (RuntimeException failure) {
      journal.close();
      throw failure;
    }
    return log;
  }

  // ---- writing

  @Override
  public void granted(OpenGrant grant) {
    journal.append(data -> writeGrant(data, GRANTED, grant));
  }

  private static void writeGrant(DataOutputStream data, int kind, OpenGrant grant)
      throws IOException {
    data.writeByte(kind);
    data.writeLong(grant.reservation.grantedAt);
    data.writeLong(grant.endsAt);
    data.writeUTF(grant.id());
    data.writeUTF(grant.ticket == null ? "" : grant.ticket.id);
    String key = grant.ticket == null ? null : grant.ticket.request.idempotencyKey();
    data.writeUTF(key == null ? "" : key);
    data.writeUTF(grant.tenant());
    data.writeUTF(grant.answer.priorityClass());
    data.writeLong(grant.answer.tokens());
    data.writeLong(grant.answer.requestedTokens());
    data.writeLong(grant.answer.remaining());
  }

  @Override
  public void settled(String id, long charged, long now) {
    journal.append(
        data -> {
          data.writeByte(SETTLED);
          data.writeLong(now);
          data.writeUTF(id);
          data.writeLong(charged);
        });
  }

  @Override
  public void ended(String id, long now) {
    journal.append(
        data -> {
          data.writeByte(ENDED);
          data.writeLong(now);
          data.writeUTF(id);
        });
  }

  @Override
  public void extended(OpenGrant grant) {
    journal.append(
        data -> {
          data.writeByte(EXTENDED);
          data.writeUTF(grant.id());
          data.writeLong(grant.endsAt);
        });
  }

  @Override
  public void restate(
      ModelBudget budget, ModelWaitingList waitingList, OpenGrants grants, long now) {
    limits = ModelLimits.of(budget).fingerprint();
    rewrite(waitingList, grants, now);
  }

  @Override
  public void compact(ModelWaitingList waitingList, OpenGrants grants, long now) {
    if (journal.bytes() >= tidyAt) {
      rewrite(waitingList, grants, now);
    }
  }

  private void rewrite(ModelWaitingList waitingList, OpenGrants grants, long now) {
    List<Journal.JournalRecord<DataOutputStream>> records = new ArrayList<>();
    records.add(
        data -> {
          data.writeByte(OPENED);
          data.writeInt(VERSION);
          data.writeUTF(boot);
          data.writeUTF(model);
          data.writeUTF(limits);
          data.writeLong(now);
          Long emptiedAt = waitingList.buckets().emptiedAt();
          data.writeBoolean(emptiedAt != null);
          data.writeLong(emptiedAt == null ? 0 : emptiedAt);
        });
    Map<String, DebtBucket.Saved> saved = waitingList.buckets().save(now);
    // Written levels are rounded; memory and file continue from the same values.
    waitingList.buckets().restore(saved, now);
    saved.forEach((name, level) -> records.add(data -> writeLevel(data, name, level)));
    for (OpenGrant grant : grants.all()) {
      records.add(data -> writeHeld(data, grant, waitingList.buckets()));
    }
    journal.replace(records);
    tidyAt = Math.max(SMALL_BYTES, 2 * journal.bytes());
  }

  private static void writeLevel(DataOutputStream data, String name, DebtBucket.Saved level)
      throws IOException {
    data.writeByte(LEVEL);
    data.writeUTF(name);
    data.writeLong(level.owedTokens());
    data.writeLong(level.history().next());
    data.writeInt(level.history().entries().size());
    for (RefundBounds.ChargeRecord entry : level.history().entries()) {
      data.writeLong(entry.event());
      data.writeLong(entry.owed());
    }
  }

  /** Writes an open grant and its charges, which the levels contain. */
  private static void writeHeld(DataOutputStream data, OpenGrant grant, ModelBuckets buckets)
      throws IOException {
    writeGrant(data, HELD, grant);
    Reservation reservation = grant.reservation;
    writeCharge(data, reservation.model, true);
    writeCharge(
        data, reservation.tenant, buckets.isOf(grant.tenant(), reservation.tenant.bucket()));
    DebtBucket guarantee = buckets.guarantee(grant.answer.priorityClass());
    writeCharge(data, reservation.guarantee, guarantee == reservation.guarantee.bucket());
  }

  /** Nothing of it can be refunded to another meter than the one it was charged to. */
  private static void writeCharge(
      DataOutputStream data, Reservation.Charge charge, boolean toThisBucket) throws IOException {
    data.writeLong(toThisBucket ? charge.tokens() : 0);
    data.writeLong(charge.event());
  }

  @Override
  public void close() {
    journal.close();
  }

  // ---- reading

  /** Does again what was done. */
  private static final class Replay {
    private final ModelState state;
    private final Map<String, DebtBucket.Saved> buckets = new LinkedHashMap<>();
    private final List<String> classes;
    private long tickets;
    private @Nullable String boot;
    private @Nullable String limits;
    private long latest = Long.MIN_VALUE;

    Replay(ModelState state) {
      this.state = state;
      this.classes = List.copyOf(state.budget().priorityClasses().keySet());
    }

    void read(DataInputStream data) throws IOException {
      int kind = data.readByte();
      if (kind != OPENED && kind != LEVEL && !buckets.isEmpty()) {
        state.waitingList().buckets().restore(buckets, latest);
        buckets.clear();
      }
      switch (kind) {
        case OPENED -> opened(data);
        case LEVEL -> level(data);
        case HELD -> held(data);
        case GRANTED -> granted(data);
        case SETTLED -> settled(data);
        case ENDED -> ended(data);
        case EXTENDED -> extended(data);
        default -> throw new IOException("unknown kind of record: " + kind);
      }
    }

    private void opened(DataInputStream data) throws IOException {
      int version = data.readInt();
      if (version != VERSION) {
        throw new IOException("version must be %d, but was %d".formatted(VERSION, version));
      }
      boot = data.readUTF();
      String of = data.readUTF();
      if (!of.equals(state.model())) {
        throw new IOException("it is of model %s, not of %s".formatted(of, state.model()));
      }
      limits = data.readUTF();
      latest = data.readLong();
      state.waitingList().buckets().clock(latest);
      boolean emptied = data.readBoolean();
      long emptiedAt = data.readLong();
      if (emptied) {
        state.waitingList().buckets().emptiedAt(emptiedAt);
      }
    }

    private void at(long time) {
      latest = Math.max(latest, time);
      state.waitingList().advance(time);
    }

    private void level(DataInputStream data) throws IOException {
      String name = data.readUTF();
      long owed = data.readLong();
      long next = data.readLong();
      int size = data.readInt();
      List<RefundBounds.ChargeRecord> entries = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        entries.add(new RefundBounds.ChargeRecord(data.readLong(), data.readLong()));
      }
      buckets.put(name, new DebtBucket.Saved(owed, new RefundBounds.Saved(entries, next)));
    }

    private void held(DataInputStream data) throws IOException {
      GrantRecord record = GrantRecord.read(data);
      Reservation.Charge[] charges = new Reservation.Charge[3];
      ModelBuckets meters = state.waitingList().buckets();
      DebtBucket[] where = {
        meters.tokens(), meters.tenant(record.tenant(), latest), meters.guarantee(record.priority())
      };
      for (int i = 0; i < charges.length; i++) {
        charges[i] = new Reservation.Charge(where[i], data.readLong(), data.readLong());
      }
      Reservation reservation =
          new Reservation(
              record.demand(classes, state.budget()),
              record.grantedAt(),
              charges[0],
              charges[1],
              charges[2]);
      state.waitingList().resume();
      add(record, reservation);
    }

    private void granted(DataInputStream data) throws IOException {
      GrantRecord record = GrantRecord.read(data);
      at(record.grantedAt());
      TokenDemand demand = record.demand(classes, state.budget());
      add(record, state.waitingList().replay(demand, record.grantedAt()));
    }

    private void add(GrantRecord record, Reservation reservation) {
      TokenRequest request = record.request(state.model());
      Ticket ticket = null;
      if (!record.ticket().isEmpty()) {
        ticket =
            new Ticket(record.ticket(), request, tickets++, Ticket.NO_DEADLINE, record.grantedAt());
        ticket.claimed = true;
        ticket.decided = record.answer(state.model());
        state.tickets().add(ticket);
      }
      state
          .grants()
          .add(new OpenGrant(record.answer(state.model()), reservation, ticket, record.endsAt()));
    }

    private void settled(DataInputStream data) throws IOException {
      at(data.readLong());
      OpenGrant grant = over(data.readUTF());
      long charged = data.readLong();
      if (grant != null) {
        state.waitingList().settleAgain(grant.reservation, charged);
      }
    }

    private void ended(DataInputStream data) throws IOException {
      at(data.readLong());
      OpenGrant grant = over(data.readUTF());
      if (grant != null) {
        state.waitingList().abandon(grant.reservation);
      }
    }

    private @Nullable OpenGrant over(String id) {
      OpenGrant grant = state.grants().remove(id);
      if (grant != null && grant.ticket != null) {
        state.tickets().forget(grant.ticket);
      }
      return grant;
    }

    private void extended(DataInputStream data) throws IOException {
      OpenGrant grant = state.grants().find(data.readUTF());
      long endsAt = data.readLong();
      if (grant != null) {
        state.grants().extend(grant, endsAt);
      }
    }

    /** Everything was read. */
    void finish(boolean comparable, boolean sameBoot, long now) {
      if (!buckets.isEmpty()) {
        state.waitingList().buckets().restore(buckets, latest);
      }
      if (!comparable) {
        state.waitingList().buckets().restart(now);
      }
      if (!sameBoot) {
        state.grants().all().forEach(each -> each.endsAt = now + state.life());
      }
      state.grants().endBy(now + state.life());
    }
  }

  /** A grant as it is written. */
  private record GrantRecord(
      long grantedAt,
      long endsAt,
      String id,
      String ticket,
      String key,
      String tenant,
      String priority,
      long tokens,
      long requested,
      long remaining) {
    static GrantRecord read(DataInputStream data) throws IOException {
      return new GrantRecord(
          data.readLong(),
          data.readLong(),
          data.readUTF(),
          data.readUTF(),
          data.readUTF(),
          data.readUTF(),
          data.readUTF(),
          data.readLong(),
          data.readLong(),
          data.readLong());
    }

    /** A class that does not exist any more counts as the last. */
    TokenDemand demand(List<String> classes, ModelBudget budget) {
      int rank = classes.indexOf(priority);
      return new TokenDemand(
          tenant, budget.weight(tenant), rank < 0 ? classes.size() - 1 : rank, tokens);
    }

    TokenRequest request(String model) {
      TokenRequest request =
          TokenRequest.of(model, requested).withPriorityClass(priority).withTenant(tenant);
      return key.isEmpty() ? request : request.withIdempotencyKey(key);
    }

    TokenDecision.Granted answer(String model) {
      return new TokenDecision.Granted(model, priority, tokens, remaining, requested, id);
    }
  }
}
