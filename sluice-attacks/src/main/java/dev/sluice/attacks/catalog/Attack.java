package dev.sluice.attacks.catalog;

import java.io.IOException;

/**
 * One way to harm a server. Instances keep no state between runs, other than prepared requests, and
 * may run any number of times, one at a time.
 */
public abstract class Attack {
  /** The access that the attacker has. */
  public enum Access {
    NO_KEY,
    POWERLESS_KEY,
    TENANT_KEY
  }

  /**
   * The resource that an attack exhausts; the benchmark measures the attacks of a family together.
   */
  public enum Family {
    /** Much memory for few bytes sent. */
    MEMORY,
    /** Room in shared budgets, held for long. */
    BUDGETS,
    /** Frames of HTTP/2 that cost the sender less than the server. */
    FRAMES,
    /** Requests that take long to parse or to carry out. */
    PROCESSOR,
    /** Connections, streams and answers that are not read. */
    CONNECTIONS,
    /** State that stays. */
    STATE
  }

  /**
   * The most that an attack may use; the attempt ends when one of these is reached.
   *
   * @param connections opened in all
   * @param bytes sent in all
   * @param bytesPerSecond sent by all connections together
   */
  public record Bounds(int connections, long bytes, long bytesPerSecond) {
    private static final int MEGABYTE = 1 << 20;

    /** Checks every part. */
    public Bounds {
      if (connections < 1 || bytes < 1 || bytesPerSecond < 1) {
        throw new IllegalArgumentException(
            "bounds must be positive, but were %d, %d, %d"
                .formatted(connections, bytes, bytesPerSecond));
      }
    }

    static Bounds of(int connections, int megabytes, int megabytesPerSecond) {
      return new Bounds(
          connections, (long) megabytes * MEGABYTE, (long) megabytesPerSecond * MEGABYTE);
    }
  }

  private final String name;
  private final Family family;
  private final Access access;
  private final Bounds bounds;

  Attack(String name, Family family, Access access, Bounds bounds) {
    this.name = name;
    this.family = family;
    this.access = access;
    this.bounds = bounds;
  }

  /** Returns its name on the command line and in tables. */
  public final String name() {
    return name;
  }

  public final Family family() {
    return family;
  }

  public final Access access() {
    return access;
  }

  public final Bounds bounds() {
    return bounds;
  }

  /** Builds requests that take a while to build; called before the time begins. */
  void prepare() {}

  /** Creates what the attack needs on the server, before {@link #run}. */
  void prepare(Attempt attempt) throws IOException {}

  /** Goes on until the attempt is over, or there is nothing left to try. */
  abstract void run(Attempt attempt) throws IOException, InterruptedException;

  @Override
  public final String toString() {
    return name;
  }
}
