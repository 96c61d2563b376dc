package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.text.JsonWriter;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {

  @Test
  void object_holdsAllKinds() {
    JsonWriter json =
        JsonWriter.object()
            .put("text", "a")
            .put("number", Long.MIN_VALUE)
            .put("yes", true)
            .put("inner", JsonWriter.object());
    assertThat(json)
        .hasToString("{\"text\":\"a\",\"number\":-9223372036854775808,\"yes\":true,\"inner\":{}}");
  }

  @Test
  void quote_escapes() {
    String nasty = "\"quoted\" back\\slash\nline\ttab\0zero \u00e9\ud83d\ude00";
    assertThat(JsonWriter.quote("a\"\n")).isEqualTo("\"a\\\"\\u000a\"");
    assertThat(JsonReader.readObject(JsonWriter.object().put(nasty, nasty).toString()))
        .isEqualTo(Map.of(nasty, nasty));
  }
}
