package dev.sluice.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Asks a server over HTTP. */
final class HttpProbe {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final int port;

  HttpProbe(int port) {
    this.port = port;
  }

  /** A response. */
  record Reply(HttpResponse<String> response) {
    int status() {
      return response.statusCode();
    }

    JsonNode json() {
      try {
        return MAPPER.readTree(response.body());
      } catch (IOException malformed) {
        throw new UncheckedIOException(response.body(), malformed);
      }
    }

    String code() {
      return json().at("/error/code").asText();
    }

    String message() {
      return json().at("/error/message").asText();
    }

    String header(String name) {
      return response.headers().firstValue(name).orElse("");
    }
  }

  java.net.http.HttpRequest.Builder request(String path) {
    return java.net.http.HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
        .timeout(Duration.ofSeconds(20));
  }

  Reply get(String path) {
    return send(request(path).GET());
  }

  Reply delete(String path) {
    return send(request(path).DELETE());
  }

  Reply post(String path, String body) {
    return send(request(path).POST(BodyPublishers.ofString(body)));
  }

  Reply put(String path, String body) {
    return send(request(path).PUT(BodyPublishers.ofString(body)));
  }

  Reply patch(String path, String body) {
    return send(request(path).method("PATCH", BodyPublishers.ofString(body)));
  }

  Reply send(java.net.http.HttpRequest.Builder request) {
    return sendLater(request).join();
  }

  CompletableFuture<Reply> sendLater(java.net.http.HttpRequest.Builder request) {
    return client.sendAsync(request.build(), BodyHandlers.ofString()).thenApply(Reply::new);
  }

  CompletableFuture<Reply> postLater(String path, String body) {
    return sendLater(request(path).POST(BodyPublishers.ofString(body)));
  }

  HttpClient client() {
    return client;
  }
}
