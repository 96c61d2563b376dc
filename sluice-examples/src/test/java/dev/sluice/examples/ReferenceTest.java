package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The references in docs/http.md and docs/grpc.md are those of the code. With {@code
 * -Dsluice.docs.write=true} they are written anew.
 */
final class ReferenceTest {
  private static final String BEGIN = "<!-- What follows is made by ReferenceTest. -->\n";

  @Test
  void httpPage_matchesTheOpenApiDocument() throws IOException {
    Path document = Pages.ROOT.resolve("sluice-server/src/main/resources/openapi.json");
    check("docs/http.md", HttpReference.of(new JsonMapper().readTree(document.toFile())));
  }

  @Test
  void grpcPage_matchesTheProtoFiles() throws IOException {
    Path folder = Pages.ROOT.resolve("sluice-proto/src/main/protobuf/sluice/v1");
    try (Stream<Path> files = Files.list(folder)) {
      List<String> protos = files.sorted().map(Pages::read).toList();
      check("docs/grpc.md", GrpcReference.of(protos));
    }
  }

  private static void check(String page, String reference) throws IOException {
    String text = Pages.read(page);
    String whole = text.substring(0, text.indexOf(BEGIN) + BEGIN.length()) + reference;
    if (Boolean.getBoolean("sluice.docs.write")) {
      Files.writeString(Pages.ROOT.resolve(page), whole);
      return;
    }
    assertThat(text)
        .as("%s is out of date: run this test with -Dsluice.docs.write=true", page)
        .isEqualTo(whole);
  }
}
