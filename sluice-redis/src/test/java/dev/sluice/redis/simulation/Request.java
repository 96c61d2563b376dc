package dev.sluice.redis.simulation;

import dev.sluice.redis.internal.connection.LuaScript;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One call on its way to Redis and back. */
public abstract class Request {
  private final String node;
  private final int line;
  private final int life;
  private final @Nullable LuaScript script;
  private final String[] keys;
  private final String[] arguments;

  /**
   * Creates a request.
   *
   * @param line the number of the connection on which it is sent
   * @param life the life of the server to which that leads
   * @param script what runs; null for a mere round trip
   */
  Request(
      String node,
      int line,
      int life,
      @Nullable LuaScript script,
      String[] keys,
      String[] arguments) {
    this.node = node;
    this.line = line;
    this.life = life;
    this.script = script;
    this.keys = keys;
    this.arguments = arguments;
  }

  /** Returns the name of the node that sends it. */
  public String node() {
    return node;
  }

  int line() {
    return line;
  }

  int life() {
    return life;
  }

  /** Returns what runs; null for a mere round trip. */
  public @Nullable LuaScript script() {
    return script;
  }

  String[] keys() {
    return keys;
  }

  /** Returns the arguments of the script. */
  public String[] arguments() {
    return arguments;
  }

  /** Redis has answered at a time. */
  abstract void answered(long nanos, @Nullable List<Object> answer, @Nullable Throwable failure);
}
