package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
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

  private static JsonBounds parser(String json) throws IOException {
    return new JsonBounds(Json.MAPPER.createParser(bytes(json)), bytes -> true);
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
    JsonBounds parser = parser(body);
    assertThatExceptionOfType(ApiException.class)
        .isThrownBy(() -> Json.read(Json.MAPPER, parser, JsonMessages.NewMessage.class));
    assertThat(parser.isClosed()).isTrue();
  }

  @Test
  void bodyThatIsRead_closesTheParser() throws IOException {
    JsonBounds parser = parser("{\"payload\":\"m\"}");
    assertThat(Json.read(Json.MAPPER, parser, JsonMessages.NewMessage.class).payload())
        .isEqualTo("m");
    assertThat(parser.isClosed()).isTrue();
  }

  /** The text after the first name is not JSON, and must not be read. */
  @Test
  void startsWithField_readsOnlyTheFirstName() {
    assertThat(Json.startsWithField(bytes(" {\"messages\": [%"), "messages")).isTrue();
    assertThat(Json.startsWithField(bytes("{\"payload\":\"\",\"messages\":[]}"), "messages"))
        .isFalse();
    for (String other : new String[] {"", "{}", "[]", "\"messages\"", "[{\"messages\":[]}]", "%"}) {
      assertThat(Json.startsWithField(bytes(other), "messages")).as(other).isFalse();
    }
  }
}
