package dev.sluice.redis.simulation;

import dev.sluice.redis.link.LuaScript;
import io.lettuce.core.RedisCommandExecutionException;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs scripts in a real server at a chosen time: TIME and the expiry of keys are those of the
 * simulation. A socket without a library in between: a simulation has thousands of calls.
 */
final class RedisScripts implements AutoCloseable {
  private static final String IN_CHOSEN_TIME =
      """
      local server = redis
      local micros = tonumber(table.remove(ARGV))
      local millis = math.floor(micros / 1000)
      local redis = {error_reply = server.error_reply, call = function(command, key, ...)
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
      end}
      """;

  private final Map<String, String> digests = new HashMap<>();
  private final Socket socket;
  private final DataInputStream in;
  private final OutputStream out;

  RedisScripts(int port) {
    try {
      socket = new Socket("127.0.0.1", port);
      socket.setTcpNoDelay(true);
      in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
      out = new BufferedOutputStream(socket.getOutputStream());
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /**
   * Runs a script at a time.
   *
   * @throws RedisCommandExecutionException if it answers with an error
   */
  @SuppressWarnings("unchecked")
  List<Object> run(LuaScript script, String[] keys, String[] arguments, long micros) {
    String digest = digests.computeIfAbsent(script.digest(), absent -> load(script));
    String[] words = new String[keys.length + arguments.length + 4];
    words[0] = "EVALSHA";
    words[1] = digest;
    words[2] = Integer.toString(keys.length);
    System.arraycopy(keys, 0, words, 3, keys.length);
    System.arraycopy(arguments, 0, words, 3 + keys.length, arguments.length);
    words[words.length - 1] = Long.toString(micros);
    return (List<Object>) command(words);
  }

  private String load(LuaScript script) {
    return String.valueOf(command("SCRIPT", "LOAD", IN_CHOSEN_TIME + script.body()));
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
    switch (type) {
      case '+':
        return line;
      case '-':
        throw new RedisCommandExecutionException(line);
      case ':':
        return Long.parseLong(line);
      case '$':
        return bulk(Integer.parseInt(line));
      default:
        List<Object> list = new ArrayList<>();
        for (int left = Integer.parseInt(line); left > 0; left--) {
          list.add(read());
        }
        return list;
    }
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
