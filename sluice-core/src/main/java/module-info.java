/**
 * Sluice core: token buckets that never grant more than configured.
 *
 * <p>Needs nothing at run time but the JDK and exports one package. Sluice's own limits in Redis
 * and the governor use the units of buckets, too; the governor also uses clocks and preconditions.
 */
@SuppressWarnings("module") // dev.sluice.governor and dev.sluice.redis are built later
module dev.sluice {
  requires static org.jspecify;

  exports dev.sluice;
  exports dev.sluice.internal.bucket to
      dev.sluice.governor,
      dev.sluice.redis;
  exports dev.sluice.internal.time to
      dev.sluice.governor;
  exports dev.sluice.internal.util to
      dev.sluice.governor;
}
