package dev.sluice.attacks.wire;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

/*
 * Writes literals only (RFC 7541, section 6.2.2). Reads what a server sends that was told to keep
 * no dynamic table: indexed fields of the static table, of which :status alone matters here, and
 * literals. A string in Huffman's code is skipped: servers use it for long ones, such as messages
 * of errors, and nothing here depends on those.
 */

/** Headers of HTTP/2, as far as these clients need them. */
public final class Hpack {
  private static final int PLAIN_LENGTH_BITS = 7;
  private static final int HUFFMAN = 0x80;
  private static final String[] STATUS = {"200", "204", "206", "304", "400", "404", "500"};
  private static final int FIRST_STATUS = 8;
  private static final int LAST_STATIC = 61;

  private Hpack() {}

  /** Encodes name, value, name, value and so on. */
  public static byte[] encode(String... namesAndValues) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      out.write(0);
      writeString(out, namesAndValues[i]);
      writeString(out, namesAndValues[i + 1]);
    }
    return out.toByteArray();
  }

  private static void writeString(ByteArrayOutputStream out, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    writeNumber(out, bytes.length);
    out.writeBytes(bytes);
  }

  private static void writeNumber(ByteArrayOutputStream out, int number) {
    int most = (1 << PLAIN_LENGTH_BITS) - 1;
    if (number < most) {
      out.write(number);
      return;
    }
    out.write(most);
    int rest = number - most;
    for (; rest >= 0x80; rest >>>= 7) {
      out.write((rest & 0x7f) | 0x80);
    }
    out.write(rest);
  }

  /** Fields by name, of the first frame of headers; a value that goes on in the next is cut. */
  public static Map<String, String> decode(byte[] block) {
    Map<String, String> fields = new TreeMap<>();
    Reader in = new Reader(block);
    while (in.at < block.length) {
      int first = block[in.at] & 0xff;
      if ((first & 0x80) != 0) {
        int index = in.number(7);
        int status = index - FIRST_STATUS;
        if (status >= 0 && status < STATUS.length) {
          fields.put(":status", STATUS[status]);
        }
      } else if ((first & 0xe0) == 0x20) {
        in.number(5); // a size of the dynamic table
      } else {
        int index = in.number((first & 0x40) != 0 ? 6 : 4);
        String name = index == 0 ? in.string() : index <= LAST_STATIC ? "#" + index : "?";
        fields.put(name, in.string());
      }
    }
    return fields;
  }

  private static final class Reader {
    private final byte[] block;
    private int at;

    Reader(byte[] block) {
      this.block = block;
    }

    int number(int bits) {
      int most = (1 << bits) - 1;
      int number = block[at++] & most;
      if (number < most) {
        return number;
      }
      for (int shift = 0; ; shift += 7) {
        int next = block[at++] & 0xff;
        number += (next & 0x7f) << shift;
        if ((next & 0x80) == 0) {
          return number;
        }
      }
    }

    String string() {
      boolean huffman = (block[at] & HUFFMAN) != 0;
      int length = Math.min(number(PLAIN_LENGTH_BITS), block.length - at);
      at += length;
      return huffman ? "?" : new String(block, at - length, length, StandardCharsets.UTF_8);
    }
  }
}
