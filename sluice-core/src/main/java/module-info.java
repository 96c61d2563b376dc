/**
 * Sluice core: token buckets that never grant more than configured.
 *
 * <p>Needs nothing at run time but the JDK and exports one package.
 */
module dev.sluice {
  requires static org.jspecify;

  exports dev.sluice;
}
