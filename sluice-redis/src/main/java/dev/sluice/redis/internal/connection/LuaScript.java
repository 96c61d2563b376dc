package dev.sluice.redis.internal.connection;

/**
 * A Lua script that Redis executes atomically.
 *
 * @since 0.1
 */
public interface LuaScript {
  /** Its text. */
  String body();

  /** Returns the SHA-1 digest by which Redis knows the script. */
  String digest();

  /**
   * A script of several files, one after the other; before them comes what every script begins
   * with: {@code now}, the time of the server in microseconds.
   *
   * @param beside a class in whose package the files are
   * @param parts their names without {@code .lua}
   * @throws IllegalStateException if one is missing
   */
  static LuaScript of(Class<?> beside, String... parts) {
    return LoadedLuaScript.of(beside, parts);
  }

  /**
   * The same for scripts that {@link FleetConnection} calls: they do nothing after their deadline.
   *
   * @param beside a class in whose package the files are
   * @param parts their names without {@code .lua}
   * @throws IllegalStateException if one is missing
   */
  static LuaScript guarded(Class<?> beside, String... parts) {
    return LoadedLuaScript.guarded(beside, parts);
  }
}
