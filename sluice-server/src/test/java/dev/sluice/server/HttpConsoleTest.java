package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.HttpProbe.Reply;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The files of the console, requested without a key. */
@Timeout(60)
final class HttpConsoleTest {
  private static final Pattern REFERENCE =
      Pattern.compile("(?:from |href=|src=)\"(?:/console|\\.)/([^\"]+)\"");

  @TempDir static Path dir;
  private static KeyedServer server;
  private static HttpProbe http;

  @BeforeAll
  static void start() throws IOException {
    server = new KeyedServer(dir);
    http = new HttpProbe(server.httpPort());
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Test
  void page_needsNoKey_andRunsOnlyItsOwnFiles() {
    Reply page = http.get("/");
    assertThat(page.status()).isEqualTo(200);
    assertThat(page.header("Content-Type")).isEqualTo("text/html; charset=utf-8");
    assertThat(page.header("Content-Security-Policy"))
        .startsWith("default-src 'none'; script-src 'self'; style-src 'self';")
        .contains("connect-src 'self'", "frame-ancestors 'none'")
        .doesNotContain("unsafe");
    assertThat(page.header("X-Content-Type-Options")).isEqualTo("nosniff");
    assertThat(page.header("Cross-Origin-Resource-Policy")).isEqualTo("same-origin");
    assertThat(page.header("Referrer-Policy")).isEqualTo("no-referrer");
    assertThat(page.header("Cache-Control")).isEqualTo("no-cache");
    assertThat(page.response().body())
        .startsWith("<!doctype html>")
        .doesNotContain("https://", "http://", " style=", " onclick=", "<style");
    assertThat(http.get("/v1/queues").status()).isEqualTo(401);
  }

  @Test
  void everyReferencedFile_exists() {
    Deque<String> left = new ArrayDeque<>(Set.of("index.html"));
    Set<String> seen = new TreeSet<>();
    while (!left.isEmpty()) {
      String file = left.remove();
      if (seen.add(file)) {
        Reply reply = http.get("/console/" + file);
        assertThat(reply.status()).as(file).isEqualTo(200);
        Matcher references = REFERENCE.matcher(reply.response().body());
        while (!file.equals("chart.js") && references.find()) {
          left.add(references.group(1));
        }
      }
    }
    assertThat(seen)
        .contains("app.js", "chart.js", "console.css", "icon.svg", "view-dead-letters.js");
  }

  @Test
  void files_haveTheirTypes() {
    assertThat(http.get("/console/app.js").header("Content-Type"))
        .isEqualTo("text/javascript; charset=utf-8");
    assertThat(http.get("/console/chart.js").header("Content-Type"))
        .isEqualTo("text/javascript; charset=utf-8");
    assertThat(http.get("/console/console.css").header("Content-Type"))
        .isEqualTo("text/css; charset=utf-8");
    assertThat(http.get("/console/icon.svg").header("Content-Type")).isEqualTo("image/svg+xml");
  }

  @Test
  void scripts_neverInsertTextAsMarkup() {
    for (String file : new String[] {"dom.js", "dialogs.js", "table.js", "app.js", "charts.js"}) {
      assertThat(http.get("/console/" + file).response().body())
          .as(file)
          .doesNotContain(
              "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(");
    }
  }

  @Test
  void head_isTheSameWithoutContent() {
    Reply got = http.get("/console/app.js");
    Reply head = http.send(http.request("/console/app.js").method("HEAD", BodyPublishers.noBody()));
    assertThat(head.status()).isEqualTo(200);
    assertThat(head.response().body()).isEmpty();
    assertThat(head.header("ETag")).isEqualTo(got.header("ETag"));
    assertThat(head.header("Content-Length")).isEqualTo(got.header("Content-Length"));
    assertThat(http.send(http.request("/").method("HEAD", BodyPublishers.noBody())).status())
        .isEqualTo(200);
  }

  @Test
  void matchingETag_isNotModified() {
    String tag = http.get("/console/app.js").header("ETag");
    assertThat(tag).isNotEmpty().isNotEqualTo(http.get("/console/api.js").header("ETag"));
    Reply again = http.send(http.request("/console/app.js").header("If-None-Match", tag));
    assertThat(again.status()).isEqualTo(304);
    assertThat(again.response().body()).isEmpty();
    assertThat(again.header("ETag")).isEqualTo(tag);
    Reply other = http.send(http.request("/console/app.js").header("If-None-Match", "W/\"x\""));
    assertThat(other.status()).isEqualTo(200);
  }

  private Reply asked(String path, String... headers) {
    return http.send(http.request(path).headers(headers));
  }

  @Test
  void ifNoneMatch_acceptsListsAsterisksAndStrongTags() {
    String tag = http.get("/console/app.js").header("ETag");
    String strong = tag.substring("W/".length());
    for (String field : List.of("*", strong, "\"x\", " + tag, "W/\"x\"," + strong + ",\"y\"")) {
      assertThat(asked("/console/app.js", "If-None-Match", field).status())
          .as(field)
          .isEqualTo(304);
    }
    Reply twice = asked("/console/app.js", "If-None-Match", "\"x\"", "If-None-Match", tag);
    assertThat(twice.status()).isEqualTo(304);
    String bare = strong.substring(1, strong.length() - 1);
    for (String field : List.of("\"x\"", bare, "\"" + bare.substring(1) + "\"", "\"*\"", "")) {
      assertThat(asked("/console/app.js", "If-None-Match", field).status())
          .as(field)
          .isEqualTo(200);
    }
    assertThat(asked("/console/none.js", "If-None-Match", "*").status()).isEqualTo(404);
    Reply head =
        http.send(
            http.request("/console/app.js")
                .header("If-None-Match", "*")
                .method("HEAD", BodyPublishers.noBody()));
    assertThat(head.status()).isEqualTo(304);
    assertThat(head.header("ETag")).isEqualTo(tag);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "gzip|true",
        "br, GZIP|true",
        "gzip;q=0.1|true",
        "gzip; q=0.001|true",
        "*|true",
        "x-gzip|true",
        "deflate, *;q=0.5|true",
        "gzip;q=0|false",
        "gzip; q=0.000|false",
        "gzip;Q=0.0, *|false",
        "*, gzip;q=0|false",
        "*;q=0|false",
        "br|false",
        "gzippy|false",
        "identity;q=1, ;|false",
      })
  void gzip_isUsedOnlyIfAccepted(String field, boolean zipped) {
    Reply head =
        http.send(
            http.request("/console/app.js")
                .header("Accept-Encoding", field)
                .method("HEAD", BodyPublishers.noBody()));
    assertThat(head.status()).isEqualTo(200);
    assertThat(head.header("Content-Encoding")).isEqualTo(zipped ? "gzip" : "");
    assertThat(head.header("Vary")).isEqualTo("Accept-Encoding");
  }

  @Test
  void gzippedFile_hasTheSameContent() throws Exception {
    var zipped =
        http.client()
            .send(
                http.request("/console/app.js").header("Accept-Encoding", "gzip").build(),
                java.net.http.HttpResponse.BodyHandlers.ofInputStream());
    assertThat(zipped.headers().firstValue("Content-Encoding")).contains("gzip");
    try (InputStream in = new GZIPInputStream(zipped.body())) {
      assertThat(new String(in.readAllBytes(), StandardCharsets.UTF_8))
          .isEqualTo(http.get("/console/app.js").response().body());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/console/none.js",
        "/console/",
        "/console/..",
        "/console/../openapi.json",
        "/console/..%2fopenapi.json",
        "/console/%2e%2e%2fopenapi.json",
        "/console/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/console/..%5cversion.properties",
        "/console/%00",
        "/..%2fconsole%2fapp.js",
        "//console/app.js",
        "/console//app.js",
        "/console/app.js/",
        "/console/App.js"
      })
  void unknownOrTraversingPath_isNotFound(String path) throws IOException {
    // Not by a client that tidies the path up.
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort())) {
      String request = "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
      socket.getOutputStream().write(request.formatted(path).getBytes(StandardCharsets.US_ASCII));
      String answer =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      assertThat(answer).startsWith("HTTP/1.1 404 ").contains("NOT_FOUND");
    }
  }

  @Test
  void links_mayHaveAnyQuery() {
    assertThat(http.get("/?from=mail&from=other").status()).isEqualTo(200);
    assertThat(http.get("/console/app.js?v=1").status()).isEqualTo(200);
  }

  @Test
  void files_areOnlyRead() {
    Reply posted = http.post("/console/app.js", "{}");
    assertThat(posted.status()).isEqualTo(405);
    assertThat(posted.header("Allow")).isEqualTo("GET, HEAD");
  }
}
