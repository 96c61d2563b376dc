package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {

  @Test
  void object_holdsAllKinds() {
    Json json =
        Json.object()
            .put("text", "a")
            .put("number", Long.MIN_VALUE)
            .put("yes", true)
            .put("inner", Json.object());
    assertThat(json)
        .hasToString("{\"text\":\"a\",\"number\":-9223372036854775808,\"yes\":true,\"inner\":{}}");
  }

  @Test
  void quote_escapes() {
    String nasty = "\"quoted\" back\\slash\nline\ttab\0zero \u00e9\ud83d\ude00";
    assertThat(Json.quote("a\"\n")).isEqualTo("\"a\\\"\\u000a\"");
    assertThat(JsonReader.readObject(Json.object().put(nasty, nasty).toString()))
        .isEqualTo(Map.of(nasty, nasty));
  }
}
