/**
 * Sluice core: token buckets that never grant more than configured.
 *
 * <p>Needs nothing at run time but the JDK and exports one package. Sluice's own limits in Redis
 * use the units of buckets, too.
 */
@SuppressWarnings("module") // dev.sluice.redis is built later
module dev.sluice {
  requires static org.jspecify;

  exports dev.sluice;
  exports dev.sluice.internal.bucket to
      dev.sluice.redis;
}
