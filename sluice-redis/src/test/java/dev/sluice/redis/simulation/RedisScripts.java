package dev.sluice.redis.simulation;

import dev.sluice.redis.internal.connection.LuaScript;
import io.lettuce.core.RedisCommandExecutionException;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs scripts in a real server at a chosen time: TIME and the expiry of keys are those of the
 * simulation, and so are the subscribers of a channel. A socket without a library in between: a
 * simulation has thousands of calls.
 */
public final class RedisScripts implements AutoCloseable {
  private static final String IN_CHOSEN_TIME =
      """
      local server = redis
      local micros = tonumber(table.remove(ARGV))
      local millis = math.floor(micros / 1000)
      local redis = {error_reply = server.error_reply, sha1hex = server.sha1hex}
      redis.call = function(command, key, ...)
        if command == 'TIME' then
          return {math.floor(micros / 1000000), math.fmod(micros, 1000000)}
        elseif command == 'GET' then
          local stored = server.call('GET', key)
          local ends, content = string.match(stored or '', '^(%d+)|(.*)$')
          return ends and millis <= tonumber(ends) and content
        elseif command == 'SET' then
          local value, px, ttl = ...
          local ends = px and string.format('%.0f', millis + ttl) or '99999999999999'
          return server.call('SET', key, ends .. '|' .. value)
        elseif command == 'PEXPIRE' then
          return 1
        end
        return server.call(command, key, ...)
      end
      """;

  /** Returns what was published, too; the number of subscribers is the last argument. */
  private static final String WITH_MESSAGES =
      """
      local subscribers, published = table.remove(ARGV), {}
      local function main()
      %s
      end
      redis.call = (function(call)
        return function(command, ...)
          if command == 'PUBLISH' then
            local channel, message = ...
            published[#published + 1] = channel
            published[#published + 1] = message
            return tonumber(subscribers)
          end
          return call(command, ...)
        end
      end)(redis.call)
      local result = main()
      if type(result) == 'table' and result.err then
        return result
      end
      return {result, published}
      """;

  private final Map<String, Loaded> scripts = new HashMap<>();
  private final Socket socket;
  private final DataInputStream in;
  private final OutputStream out;

  /** Connects to the server at a port of this machine. */
  public RedisScripts(int port) {
    try {
      socket = new Socket(InetAddress.getLoopbackAddress(), port);
      socket.setTcpNoDelay(true);
      in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
      out = new BufferedOutputStream(socket.getOutputStream());
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private record Loaded(String digest, boolean publishes) {}

  /**
   * The reply and the published messages of a script.
   *
   * @param answer what the caller gets
   * @param published channels and messages, in turns
   */
  record Ran(List<Object> answer, List<?> published) {}

  /**
   * Runs a script at a time.
   *
   * @param subscribers how many subscribers a message has
   * @throws RedisCommandExecutionException if it answers with an error
   */
  @SuppressWarnings("unchecked")
  Ran run(LuaScript script, String[] keys, String[] arguments, int subscribers, long micros) {
    Loaded loaded = scripts.computeIfAbsent(script.digest(), absent -> load(script));
    List<String> words = new ArrayList<>(keys.length + arguments.length + 5);
    words.add("EVALSHA");
    words.add(loaded.digest);
    words.add(Integer.toString(keys.length));
    Collections.addAll(words, keys);
    Collections.addAll(words, arguments);
    if (loaded.publishes) {
      words.add(Integer.toString(subscribers));
    }
    words.add(Long.toString(micros));
    List<Object> answer = (List<Object>) command(words.toArray(String[]::new));
    return loaded.publishes
        ? new Ran((List<Object>) answer.get(0), (List<?>) answer.get(1))
        : new Ran(answer, List.of());
  }

  private Loaded load(LuaScript script) {
    boolean publishes = script.body().contains("'PUBLISH'");
    String body = publishes ? WITH_MESSAGES.replace("%s", script.body()) : script.body();
    return new Loaded(String.valueOf(command("SCRIPT", "LOAD", IN_CHOSEN_TIME + body)), publishes);
  }

  /** Returns the names of the fields of a hash that is there now. */
  @SuppressWarnings("unchecked")
  public List<String> fields(String key) {
    return (List<String>) command("HKEYS", key);
  }

  /** Returns how many members a sorted set has now. */
  public long members(String key) {
    return (Long) command("ZCARD", key);
  }

  /** Forgets everything, as a server that kept nothing. */
  void clear() {
    command("FLUSHDB");
  }

  /** Copies the data to where {@link #restore} finds it. */
  void save() {
    command("SELECT", "1");
    command("FLUSHDB");
    command("SELECT", "0");
    for (Object key : (List<?>) command("KEYS", "*")) {
      command("COPY", key.toString(), key.toString(), "DB", "1");
    }
  }

  /** Goes back to the data that was saved last. */
  void restore() {
    command("SWAPDB", "0", "1");
  }

  private Object command(String... words) {
    try {
      StringBuilder text = new StringBuilder("*").append(words.length).append("\r\n");
      for (String word : words) {
        int length = word.getBytes(StandardCharsets.UTF_8).length;
        text.append('$').append(length).append("\r\n").append(word).append("\r\n");
      }
      out.write(text.toString().getBytes(StandardCharsets.UTF_8));
      out.flush();
      return read();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private Object read() throws IOException {
    int type = in.readByte();
    String line = line();
    return switch (type) {
      case '+' -> line;
      case '-' -> throw new RedisCommandExecutionException(line);
      case ':' -> Long.parseLong(line);
      case '$' -> bulk(Integer.parseInt(line));
      default -> list(Integer.parseInt(line));
    };
  }

  private List<Object> list(int length) throws IOException {
    List<Object> list = new ArrayList<>();
    for (int i = 0; i < length; i++) {
      list.add(read());
    }
    return list;
  }

  private String bulk(int length) throws IOException {
    if (length < 0) {
      return "";
    }
    byte[] bytes = in.readNBytes(length);
    in.readByte();
    in.readByte();
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private String line() throws IOException {
    StringBuilder text = new StringBuilder();
    for (int next = in.readByte(); next != '\r'; next = in.readByte()) {
      text.append((char) next);
    }
    in.readByte();
    return text.toString();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
