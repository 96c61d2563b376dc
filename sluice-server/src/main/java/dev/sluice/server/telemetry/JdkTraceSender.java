package dev.sluice.server.telemetry;

import dev.sluice.server.support.Futures;
import io.opentelemetry.common.ComponentLoader;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.common.export.Compressor;
import io.opentelemetry.sdk.common.export.HttpResponse;
import io.opentelemetry.sdk.common.export.HttpSender;
import io.opentelemetry.sdk.common.export.HttpSenderConfig;
import io.opentelemetry.sdk.common.export.HttpSenderProvider;
import io.opentelemetry.sdk.common.export.MessageWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Sends traces with the JDK's client, so that no other client is a dependency. */
final class JdkTraceSender implements HttpSender {
  /** Makes the exporter use this sender, whatever other senders are on the class path. */
  static final ComponentLoader LOADER =
      new ComponentLoader() {
        @Override
        public <T> Iterable<T> load(Class<T> wanted) {
          return wanted == HttpSenderProvider.class
              ? List.of(wanted.cast((HttpSenderProvider) JdkTraceSender::new))
              : List.of();
        }
      };

  private final HttpSenderConfig config;
  private final HttpClient client;

  private JdkTraceSender(HttpSenderConfig config) {
    this.config = config;
    this.client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(config.getConnectTimeout())
            .build();
  }

  /**
   * The response of the collector.
   *
   * @param answer as the client has it
   */
  private record JdkResponse(java.net.http.HttpResponse<byte[]> answer) implements HttpResponse {
    @Override
    public int getStatusCode() {
      return answer.statusCode();
    }

    @Override
    public String getStatusMessage() {
      return "";
    }

    @Override
    public byte[] getResponseBody() {
      return answer.body();
    }
  }

  @Override
  public void send(
      MessageWriter message, Consumer<HttpResponse> answered, Consumer<Throwable> failed) {
    java.net.http.HttpRequest request;
    try {
      request = request(message);
    } catch (IOException failure) {
      failed.accept(failure);
      return;
    }
    Futures.when(
        client.sendAsync(request, BodyHandlers.ofByteArray()),
        answer -> answered.accept(new JdkTraceSender.JdkResponse(answer)),
        failed);
  }

  private java.net.http.HttpRequest request(MessageWriter message) throws IOException {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    @Nullable Compressor compressor = config.getCompressor();
    try (OutputStream out = compressor == null ? body : compressor.compress(body)) {
      message.writeMessage(out);
    }
    java.net.http.HttpRequest.Builder request =
        java.net.http.HttpRequest.newBuilder(config.getEndpoint())
            .timeout(config.getTimeout())
            .header("Content-Type", config.getContentType())
            .POST(BodyPublishers.ofByteArray(body.toByteArray()));
    if (compressor != null) {
      request.header("Content-Encoding", compressor.getEncoding());
    }
    config
        .getHeadersSupplier()
        .get()
        .forEach((name, values) -> values.forEach(value -> request.header(name, value)));
    return request.build();
  }

  @Override
  public CompletableResultCode shutdown() {
    return CompletableResultCode.ofSuccess();
  }
}
