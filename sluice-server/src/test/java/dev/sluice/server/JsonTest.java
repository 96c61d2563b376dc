package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.management.ThreadMXBean;
import dev.sluice.server.http.BoundedJsonParser;
import dev.sluice.server.http.JsonCodec;
import dev.sluice.server.http.Utf8Text;
import dev.sluice.server.http.routes.MessageJson;
import dev.sluice.server.support.ApiException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reading of JSON bodies. */
@Tag("any-jdk")
final class JsonTest {
  private static byte[] bytes(String json) {
    return json.getBytes(StandardCharsets.UTF_8);
  }

  private static BoundedJsonParser parser(String json) throws IOException {
    return new BoundedJsonParser(JsonCodec.MAPPER.createParser(bytes(json)), bytes -> true);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "null",
        "{\"payload\":",
        "{\"payload\":1}",
        "{\"unknown\":1,\"payload\":\"m\"}",
        "{\"payload\":\"m\"} {}"
      })
  void bodyThatIsRefused_closesTheParser(String body) throws IOException {
    BoundedJsonParser parser = parser(body);
    assertThatExceptionOfType(ApiException.class)
        .isThrownBy(() -> JsonCodec.read(JsonCodec.MAPPER, parser, MessageJson.NewMessage.class));
    assertThat(parser.isClosed()).isTrue();
  }

  @Test
  void bodyThatIsRead_closesTheParser() throws IOException {
    BoundedJsonParser parser = parser("{\"payload\":\"m\"}");
    MessageJson.NewMessage read =
        JsonCodec.read(JsonCodec.MAPPER, parser, MessageJson.NewMessage.class);
    assertThat(read.payload().bytes()).isEqualTo(bytes("m"));
    assertThat(parser.isClosed()).isTrue();
  }

  /** The text after the first name is not JSON, and must not be read. */
  @Test
  void startsWithField_readsOnlyTheFirstName() {
    assertThat(JsonCodec.startsWithField(bytes(" {\"messages\": [%"), "messages")).isTrue();
    assertThat(JsonCodec.startsWithField(bytes("{\"payload\":\"\",\"messages\":[]}"), "messages"))
        .isFalse();
    for (String other : new String[] {"", "{}", "[]", "\"messages\"", "[{\"messages\":[]}]", "%"}) {
      assertThat(JsonCodec.startsWithField(bytes(other), "messages")).as(other).isFalse();
    }
  }

  private static Utf8Text text(String json) {
    return JsonCodec.read(bytes(json), bytes -> true, Utf8Text[].class)[0];
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "m", "\u00e9", "\u4e2d", "\ud83d\ude00", "a\ud83d\ude00", "\t\"\\"})
  void text_isReadAsUtf8_andWrittenUnchanged(String unit) {
    for (int count : new int[] {1, 20_000, 100_001}) {
      String text = unit.repeat(count);
      byte[] json = JsonCodec.write(new String[] {text});
      Utf8Text read = text(new String(json, StandardCharsets.UTF_8));
      assertThat(read.bytes()).isEqualTo(bytes(text));
      assertThat(Utf8Text.isUtf8(read.bytes())).isTrue();
      byte[] written = JsonCodec.write(new Utf8Text[] {read});
      assertThat(text(new String(written, StandardCharsets.UTF_8)).bytes()).isEqualTo(bytes(text));
    }
  }

  @Test
  void bytesThatAreNotUtf8_areNoText() {
    assertThat(Utf8Text.isUtf8(new byte[] {(byte) 0xc3})).isFalse();
    byte[] late = bytes("m".repeat(100_000));
    late[99_999] = (byte) 0xff;
    assertThat(Utf8Text.isUtf8(late)).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"payload\":1}", "{\"payload\":true}", "{\"payload\":{}}"})
  void payloadThatIsNoText_isRefused(String body) {
    assertThatExceptionOfType(ApiException.class)
        .isThrownBy(() -> JsonCodec.read(bytes(body), b -> true, MessageJson.NewMessage.class))
        .withMessageContaining("payload must be text");
  }

  /** The characters, two bytes each, and the result. */
  @ParameterizedTest
  @ValueSource(strings = {"x", "\u00e9", "\u4e2d"})
  void largeText_isNotReadAsString(String unit) {
    int length = 9_000_000;
    byte[] json = bytes("[\"%s\"]".formatted(unit.repeat(length / bytes(unit).length)));
    long allocated =
        allocated(() -> JsonCodec.read(json, bytes -> true, Utf8Text[].class)[0].bytes());
    assertThat(allocated).isLessThan(7L * length / 2);
  }

  /** Blocks of the answer, and the answer. */
  @Test
  void largeText_isNotWrittenFromString() {
    Utf8Text text = Utf8Text.of(bytes("x".repeat(9_000_000)));
    assertThat(allocated(() -> JsonCodec.write(new Utf8Text[] {text}))).isLessThan(28_000_000);
  }

  /** Returns the bytes that a second call of {@code work} allocates. */
  private static long allocated(Supplier<byte[]> work) {
    assertThat(work.get()).isNotEmpty();
    ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
    long before = threads.getCurrentThreadAllocatedBytes();
    byte[] result = work.get();
    long after = threads.getCurrentThreadAllocatedBytes();
    assertThat(result).isNotEmpty();
    return after - before;
  }
}
