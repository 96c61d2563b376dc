package dev.sluice.attacks.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.util.Arrays;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;

/** Written values can be read again. */
final class EncodingTest {
  @Test
  void headers_areReadAsWritten() {
    String longValue = "v".repeat(300);
    assertThat(Hpack.decode(Hpack.encode("grpc-status", "14", "a", longValue)))
        .isEqualTo(Map.of("grpc-status", "14", "a", longValue));
  }

  @Test
  void indexedStatusAndTableSize_areUnderstood() {
    assertThat(Hpack.decode(new byte[] {0x20, (byte) 0x88})).containsEntry(":status", "200");
  }

  @Test
  void truncatedHeaderBlock_yieldsTheFieldsSoFar() {
    byte[] block = Hpack.encode("grpc-message", "m".repeat(1_000));
    assertThat(Hpack.decode(Arrays.copyOf(block, 100))).containsKey("grpc-message");
  }

  @Test
  void fields_areFound() {
    byte[] message =
        new Proto().number(1, 300).text(2, "two").message(3, new Proto().text(1, "in")).encode();
    assertThat(Proto.findText(message, 2)).contains("two");
    assertThat(Proto.find(message, 3).flatMap(inner -> Proto.findText(inner, 1))).contains("in");
    assertThat(Proto.find(message, 4)).isEmpty();
  }

  @Test
  void gzipBomb_isAMessageOfItsType() throws Exception {
    byte[] framed = Grpc.gzipBomb(new Proto().text(1, "queue"), 100_000, 2, 1);
    assertThat(framed).hasSizeLessThan(1_000).startsWith(1);
    byte[] unpacked =
        new GZIPInputStream(new ByteArrayInputStream(framed, 5, framed.length - 5)).readAllBytes();
    assertThat(Proto.findText(unpacked, 1)).contains("queue");
    assertThat(Proto.find(unpacked, 2).flatMap(inner -> Proto.find(inner, 1)))
        .hasValueSatisfying(payload -> assertThat(payload).hasSize(100_000));
  }

  @Test
  void frame_hasLengthTypeFlagsAndStream() {
    assertThat(new Frame(Frame.PING, Frame.ACK, 3, new byte[] {9}).encode())
        .containsExactly(0, 0, 1, 6, 1, 0, 0, 0, 3, 9);
    assertThat(Frame.empty(Frame.SETTINGS, 0, 0).times(3)).hasSize(27);
  }
}
