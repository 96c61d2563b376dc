package dev.sluice.redis.internal.connection;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** A script that was read from files of the library. */
record LoadedLuaScript(String body, String digest) implements LuaScript {
  private static final String CLOCK = "clock";
  private static final String GUARD = "guard";

  static LoadedLuaScript of(Class<?> beside, String... parts) {
    return of(read(LoadedLuaScript.class, CLOCK), beside, parts);
  }

  static LoadedLuaScript guarded(Class<?> beside, String... parts) {
    return of(
        read(LoadedLuaScript.class, CLOCK) + read(LoadedLuaScript.class, GUARD), beside, parts);
  }

  private static LoadedLuaScript of(String before, Class<?> beside, String... parts) {
    StringBuilder text = new StringBuilder(before);
    for (String part : parts) {
      text.append(read(beside, part));
    }
    String body = text.toString();
    return new LoadedLuaScript(body, sha1(body));
  }

  private static String read(Class<?> beside, String part) {
    String file = part + ".lua";
    try (InputStream in = beside.getResourceAsStream(file)) {
      if (in == null) {
        throw new IllegalStateException("a script is missing from the library: " + file);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException failure) {
      throw new UncheckedIOException("a script cannot be read: " + file, failure);
    }
  }

  private static String sha1(String text) {
    try {
      MessageDigest sha1 = MessageDigest.getInstance("SHA-1");
      return HexFormat.of().formatHex(sha1.digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException everyJdkHasIt) {
      throw new IllegalStateException(everyJdkHasIt);
    }
  }
}
