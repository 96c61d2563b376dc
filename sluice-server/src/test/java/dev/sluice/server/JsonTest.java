package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.sluice.server.http.BoundedJsonParser;
import dev.sluice.server.http.JsonCodec;
import dev.sluice.server.http.routes.MessageJson;
import dev.sluice.server.support.ApiException;
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
    assertThat(JsonCodec.read(JsonCodec.MAPPER, parser, MessageJson.NewMessage.class).payload())
        .isEqualTo("m");
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
}
