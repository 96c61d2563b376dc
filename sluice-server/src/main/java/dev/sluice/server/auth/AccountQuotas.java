package dev.sluice.server.auth;

import dev.sluice.broker.QueueNames;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Limits the state that one account may have, so that one tenant cannot exhaust shared resources.
 * An account is a key that a superadmin made, with all keys that descend from it; see {@link
 * ApiKey#owner}. Superadmins are bound by the totals alone.
 *
 * <p>Queues and limits belong to the account that administers their names: those that match an
 * {@code admin} permission of its {@linkplain ApiKey#scope scope}, or of the caller, count, no
 * matter which key made them. The scope does not shrink when keys are narrowed or revoked, so an
 * account cannot disown its names.
 */
public final class AccountQuotas {
  private static final AccountQuotas.QuotaConfig USUAL =
      new AccountQuotas.QuotaConfig(2_000, 1_000, 100);

  /** The keys of an account besides its first. */
  public static final int MAX_KEYS = 100;

  /** The part of all keys that only superadmins may make. */
  public static final int RESERVED_KEYS = 1_000;

  public static final int MAX_EVENT_STREAMS = 64;
  public static final int MAX_EVENT_STREAMS_OF_ACCOUNT = 4;

  /** The memory of a call that stays open: buffers of its connection, its place, its future. */
  private static final int OPEN_CALL_BYTES = 64 << 10;

  /** The share of one account: one part in this many of the open calls. */
  private static final int ACCOUNTS = 4;

  private final ApiKeyStore keys;
  private final AccountQuotas.QuotaConfig most;

  /**
   * Names that are being created, with the number of calls that create each. They count too, so
   * that concurrent calls do not exceed a quota together. Guarded by this.
   */
  private final Map<String, Integer> creating = new HashMap<>();

  /**
   * How many names one account may have.
   *
   * @param queues with dead-letter queues
   * @param limits with templates
   * @param templates of limits
   */
  public record QuotaConfig(int queues, int limits, int templates) {}

  public AccountQuotas(ApiKeyStore keys) {
    this(keys, USUAL);
  }

  public AccountQuotas(ApiKeyStore keys, AccountQuotas.QuotaConfig most) {
    this.keys = keys;
    this.most = most;
  }

  /** Returns the share for gRPC streams, and for calls on both wires that wait for messages. */
  public static ConcurrencyQuota openCalls() {
    long most = Math.max(256, Runtime.getRuntime().maxMemory() / OPEN_CALL_BYTES);
    int all = (int) Math.min(1_000_000, most);
    return new ConcurrencyQuota("open streams and waiting calls", all, all / ACCOUNTS);
  }

  public static ConcurrencyQuota eventStreams() {
    return new ConcurrencyQuota("event streams", MAX_EVENT_STREAMS, MAX_EVENT_STREAMS_OF_ACCOUNT);
  }

  /**
   * Reserves one more queue of the caller, until the queue exists.
   *
   * @param all the names of all queues
   * @return to be closed when the queue is among them, or was not created
   * @throws ApiException if its account has used up its quota
   */
  public synchronized ConcurrencyQuota.Hold queue(
      Caller caller, String name, Supplier<Set<String>> all) {
    if (!caller.mayAll(Kind.ADMIN)) {
      require("queues", count(caller, all(all.get())), most.queues());
    }
    // A queue comes with its dead-letter queue.
    return hold(
        !QueueNames.isDeadLetterQueue(name)
            ? List.of(name, QueueNames.deadLetterQueueOf(name))
            : List.of(name));
  }

  /** Checks the quota of limits and templates, as {@link #queue} does for queues. */
  public synchronized ConcurrencyQuota.Hold limit(
      Caller caller, String key, Supplier<Set<String>> stored) {
    Set<String> all = all(stored.get());
    if (!caller.mayAll(Kind.ADMIN) && !all.contains(key)) {
      require("limits", count(caller, all), most.limits());
      if (isTemplate(key)) {
        List<String> templates = all.stream().filter(AccountQuotas::isTemplate).toList();
        require("templates", count(caller, templates), most.templates());
      }
    }
    return hold(List.of(key));
  }

  /** Returns whether {@code key} is that of a template: a prefix and an asterisk. */
  public static boolean isTemplate(String key) {
    return key.endsWith("*");
  }

  private Set<String> all(Set<String> existing) {
    Set<String> all = new HashSet<>(existing);
    all.addAll(creating.keySet());
    return all;
  }

  private ConcurrencyQuota.Hold hold(List<String> names) {
    names.forEach(name -> creating.merge(name, 1, Integer::sum));
    AtomicBoolean given = new AtomicBoolean();
    return () -> {
      if (given.compareAndSet(false, true)) {
        give(names);
      }
    };
  }

  private synchronized void give(List<String> names) {
    for (String name : names) {
      creating.computeIfPresent(name, (same, calls) -> calls == 1 ? null : calls - 1);
    }
  }

  private long count(Caller caller, Collection<String> names) {
    List<Permission> own =
        Stream.concat(keys.scopeOf(caller.account()).stream(), caller.permissions().stream())
            .distinct()
            .toList();
    return names.stream()
        .filter(name -> own.stream().anyMatch(each -> each.allows(Kind.ADMIN, name)))
        .count();
  }

  static void require(String what, long now, int most) {
    if (now >= most) {
      throw new ApiException(
          ErrorKind.RESOURCE_EXHAUSTED,
          "%s of one account must be at most %d, but were %d; remove some"
              .formatted(what, most, now));
    }
  }
}
