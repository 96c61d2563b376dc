package dev.sluice.server.http.routes;

import dev.sluice.server.http.HandlerResult;
import dev.sluice.server.http.HttpHeaderPreferences;
import dev.sluice.server.http.HttpRequest;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.support.ApiException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;

/**
 * The page at {@code /}: files that are read once, at the start, and sent without a key. They hold
 * no data of this server; the page requests its data from the API, with a key where one is
 * required.
 */
public final class ConsoleRoutes implements HttpRoute.RouteGroup {
  private static final int OK = 200;
  private static final int NOT_MODIFIED = 304;
  private static final String PAGE = "index.html";
  private static final String SCRIPT = "text/javascript; charset=utf-8";

  /** The path of the chart library on the class path; {@code %s} is the version. */
  private static final String CHARTS = "/META-INF/resources/webjars/chart.js/%s/dist/chart.umd.js";

  private static final String CHARTS_VERSION =
      "/META-INF/maven/org.webjars.npm/chart.js/pom.properties";

  /** All files of the console; no other file can be requested. */
  private static final List<String> FILES =
      List.of(
          PAGE,
          "console.css",
          "parts.css",
          "controls.css",
          "icon.svg",
          "theme.js",
          "app.js",
          "api.js",
          "permissions.js",
          "dom.js",
          "format.js",
          "dialogs.js",
          "table.js",
          "columns.js",
          "charts.js",
          "history.js",
          "view-overview.js",
          "view-queues.js",
          "view-queue.js",
          "view-throttles.js",
          "view-models.js",
          "view-waiting-list.js",
          "view-dead-letters.js");

  /** Headers that let the page run only files of this server and connect only to it. */
  private static final Map<String, String> HEADERS =
      Map.of(
          "Content-Security-Policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
              + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          "Referrer-Policy",
          "no-referrer",
          "Cross-Origin-Opener-Policy",
          "same-origin",
          "Cache-Control",
          "no-cache",
          "Vary",
          "Accept-Encoding");

  private final Map<String, Asset> assets = new HashMap<>();

  /** A file. */
  @SuppressWarnings("ArrayRecordComponent") // sent, not compared
  private record Asset(String type, String tag, byte[] plain, byte[] zipped) {}

  public ConsoleRoutes() {
    for (String file : FILES) {
      assets.put(file, asset(typeOf(file), read("/dev/sluice/server/console/" + file)));
    }
    assets.put("chart.js", asset(SCRIPT, read(CHARTS.formatted(chartsVersion()))));
  }

  private static String chartsVersion() {
    Properties properties = new Properties();
    try (InputStream in = open(CHARTS_VERSION)) {
      properties.load(in);
      return properties.getProperty("version", "");
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    }
  }

  private static String typeOf(String file) {
    if (file.endsWith(".js")) {
      return SCRIPT;
    }
    if (file.endsWith(".css")) {
      return "text/css; charset=utf-8";
    }
    return file.endsWith(".svg") ? "image/svg+xml" : "text/html; charset=utf-8";
  }

  private static InputStream open(String path) {
    @Nullable InputStream in = ConsoleRoutes.class.getResourceAsStream(path);
    if (in == null) {
      throw new IllegalStateException("the class path must have " + path);
    }
    return in;
  }

  private static byte[] read(String path) {
    try (InputStream in = open(path)) {
      return in.readAllBytes();
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    }
  }

  private static Asset asset(String type, byte[] content) {
    CRC32C sum = new CRC32C();
    sum.update(content);
    ByteArrayOutputStream zipped = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(zipped)) {
      out.write(content);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    String tag = "W/\"%x-%x\"".formatted(sum.getValue(), content.length);
    return new Asset(type, tag, content, zipped.toByteArray());
  }

  @Override
  public List<HttpRoute> routes() {
    String one = "/console/{file}";
    return Stream.of("GET", "HEAD")
        .flatMap(
            method ->
                Stream.of(
                    HttpRoute.open(method, "/", request -> send(request, PAGE)),
                    HttpRoute.open(
                        method, one, request -> send(request, request.parameter("file")))))
        .map(HttpRoute::takingAnyQuery)
        .toList();
  }

  private HandlerResult send(HttpRequest request, String file) {
    Asset asset = assets.get(file);
    if (asset == null) {
      throw ApiException.notFound("unknown console file: " + file);
    }
    Map<String, String> headers = new LinkedHashMap<>(HEADERS);
    headers.put("ETag", asset.tag());
    boolean known =
        request
            .header()
            .apply("If-None-Match")
            .filter(tags -> HttpHeaderPreferences.has(tags, asset.tag()))
            .isPresent();
    if (known) {
      return HandlerResult.now(new HttpResponse(NOT_MODIFIED, headers, asset.type(), new byte[0]));
    }
    boolean zip =
        request
            .header()
            .apply("Accept-Encoding")
            .filter(HttpHeaderPreferences::takesGzip)
            .isPresent();
    if (zip) {
      headers.put("Content-Encoding", "gzip");
    }
    byte[] body = zip ? asset.zipped() : asset.plain();
    return HandlerResult.now(new HttpResponse(OK, headers, asset.type(), body));
  }
}
