package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;

/**
 * A text of JSON as its UTF-8 bytes. A large text is never there as a {@code String}, which takes
 * the memory of several more while it is made and encoded.
 */
@JsonDeserialize(using = Utf8Text.Deserializer.class)
@JsonSerialize(using = Utf8Text.Serializer.class)
public final class Utf8Text {
  /** A shorter text may be a String for a while. */
  private static final int SHORT_CHARS = 16 << 10;

  private static final int DECODED_CHARS = 1_024;

  private final byte[] bytes;

  private Utf8Text(byte[] bytes) {
    this.bytes = bytes;
  }

  /** Returns {@code bytes}, which must be UTF-8, as a text; they must not change any more. */
  public static Utf8Text of(byte[] bytes) {
    return new Utf8Text(bytes);
  }

  /** Returns the bytes themselves, not a copy. */
  public byte[] bytes() {
    return bytes;
  }

  /** Returns whether {@code bytes} are UTF-8. */
  public static boolean isUtf8(byte[] bytes) {
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
    ByteBuffer in = ByteBuffer.wrap(bytes);
    CharBuffer out = CharBuffer.allocate(Math.min(bytes.length, DECODED_CHARS) + 1);
    CoderResult result;
    do {
      result = decoder.decode(in, out.clear(), true);
    } while (result.isOverflow());
    return !result.isError();
  }

  /** Reads the current text of a parser. */
  static final class Deserializer extends JsonDeserializer<Utf8Text> {
    @Override
    public Utf8Text deserialize(JsonParser parser, DeserializationContext context)
        throws IOException {
      if (!parser.hasToken(JsonToken.VALUE_STRING)) {
        return (Utf8Text) context.handleUnexpectedToken(String.class, parser);
      }
      return new Utf8Text(
          parser.getTextLength() <= SHORT_CHARS
              ? parser.getText().getBytes(StandardCharsets.UTF_8)
              : encoded(parser));
    }

    /** Encodes the text twice: the first time for its length, so that the array is not copied. */
    private static byte[] encoded(JsonParser parser) throws IOException {
      ByteSink length = new ByteSink(new byte[0]);
      encode(parser, length);
      ByteSink all = new ByteSink(new byte[length.size]);
      encode(parser, all);
      return all.kept;
    }

    private static void encode(JsonParser parser, OutputStream to) throws IOException {
      try (Writer writer = new OutputStreamWriter(to, StandardCharsets.UTF_8)) {
        parser.getText(writer);
      }
    }
  }

  /** Counts bytes, and keeps as many as it has room for. */
  private static final class ByteSink extends OutputStream {
    private final byte[] kept;
    private int size;

    ByteSink(byte[] kept) {
      this.kept = kept;
    }

    @Override
    public void write(int each) {
      write(new byte[] {(byte) each}, 0, 1);
    }

    @Override
    public void write(byte[] from, int offset, int length) {
      if (size + length <= kept.length) {
        System.arraycopy(from, offset, kept, size, length);
      }
      size += length;
    }
  }

  /** Writes the bytes, with escapes where JSON needs them. */
  static final class Serializer extends JsonSerializer<Utf8Text> {
    @Override
    public void serialize(Utf8Text text, JsonGenerator to, SerializerProvider provider)
        throws IOException {
      to.writeUTF8String(text.bytes, 0, text.bytes.length);
    }
  }
}
