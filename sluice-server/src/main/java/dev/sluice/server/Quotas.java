package dev.sluice.server;

import dev.sluice.server.Permission.Kind;
import java.util.Collection;
import java.util.List;

/**
 * Limits the state that one account may have, so that one tenant cannot use up what all share. An
 * account is a key that a superadmin made, with all keys that descend from it; see {@link
 * Key#owner}. Superadmins are bound by the totals alone.
 *
 * <p>Queues and limits belong to the account that administers their names: those that match the
 * {@code admin} permissions of its first key count, no matter which key made them.
 */
final class Quotas {
  private static final Names USUAL = new Names(2_000, 1_000, 100);

  /** The keys of an account besides its first. */
  static final int MAX_KEYS = 100;

  /** The part of all keys that only superadmins may make. */
  static final int RESERVED_KEYS = 1_000;

  static final int MAX_EVENT_STREAMS = 64;
  static final int MAX_EVENT_STREAMS_OF_ACCOUNT = 4;

  /** The memory of a call that stays open: buffers of its connection, its place, its future. */
  private static final int OPEN_CALL_BYTES = 64 << 10;

  /** One account may hold one part in this many of the calls that stay open. */
  private static final int ACCOUNTS = 4;

  private final KeyStore keys;
  private final Names most;

  /**
   * How many names one account may have.
   *
   * @param queues with dead-letter queues
   * @param limits with templates
   * @param templates of limits
   */
  record Names(int queues, int limits, int templates) {}

  Quotas(KeyStore keys) {
    this(keys, USUAL);
  }

  Quotas(KeyStore keys, Names most) {
    this.keys = keys;
    this.most = most;
  }

  /** Returns the share for gRPC streams, and for calls on both wires that wait for messages. */
  static Share openCalls() {
    long most = Math.max(256, Runtime.getRuntime().maxMemory() / OPEN_CALL_BYTES);
    int all = (int) Math.min(1_000_000, most);
    return new Share("open streams and waiting calls", all, all / ACCOUNTS);
  }

  static Share eventStreams() {
    return new Share("event streams", MAX_EVENT_STREAMS, MAX_EVENT_STREAMS_OF_ACCOUNT);
  }

  /**
   * Checks that the caller may have one more queue.
   *
   * @param all the names of all queues
   * @throws ApiException if its account has used up its quota
   */
  void requireQueue(Caller caller, Collection<String> all) {
    if (!caller.mayAll(Kind.ADMIN)) {
      require("queues", count(caller, all), most.queues());
    }
  }

  /** As {@link #requireQueue}, for a limit or a template of that key. */
  void requireLimit(Caller caller, String key, Collection<String> all) {
    if (!caller.mayAll(Kind.ADMIN) && !all.contains(key)) {
      require("limits", count(caller, all), most.limits());
      if (LimitApi.isTemplate(key)) {
        List<String> templates = all.stream().filter(LimitApi::isTemplate).toList();
        require("templates", count(caller, templates), most.templates());
      }
    }
  }

  private long count(Caller caller, Collection<String> names) {
    List<Permission> own =
        keys.byId(caller.account()).map(Key::permissions).orElse(caller.permissions());
    return names.stream()
        .filter(name -> own.stream().anyMatch(each -> each.allows(Kind.ADMIN, name)))
        .count();
  }

  static void require(String what, long now, int most) {
    if (now >= most) {
      throw new ApiException(
          ErrorKind.RESOURCE_EXHAUSTED,
          "%s of one key and its descendants must be at most %d, but are %d; remove some"
              .formatted(what, most, now));
    }
  }
}
