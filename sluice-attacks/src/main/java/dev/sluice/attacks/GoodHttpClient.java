package dev.sluice.attacks;

import dev.sluice.attacks.wire.HttpClient;
import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Uses a queue and a limit over HTTP. */
final class GoodHttpClient implements GoodClient {
  private static final Pattern DELIVERY =
      Pattern.compile("\"id\":\"([^\"]+)\",\"lease_token\":\"([^\"]+)\"");

  private final HttpClient client;
  private final String path;
  private String settlement = "";

  GoodHttpClient(AttackedServer server, String key, String queue) throws IOException {
    client = server.connectHttp(key);
    path = "/v1/queues/" + queue;
  }

  private String post(String to, String body) throws IOException {
    HttpClient.Reply reply = client.call("POST", to, body);
    if (reply.status() != 200) {
      throw new WrongAnswer("HTTP %s: %d %s".formatted(to, reply.status(), reply.body()));
    }
    return reply.body();
  }

  @Override
  public void enqueue() throws IOException {
    post(path + "/messages", "{\"payload\":\"%s\"}".formatted(PAYLOAD));
  }

  @Override
  public void receive() throws IOException {
    Matcher delivery = DELIVERY.matcher(post(path + "/receive", "{\"wait_ms\":5000}"));
    if (!delivery.find()) {
      throw new WrongAnswer("no message");
    }
    settlement =
        "{\"id\":\"%s\",\"lease_token\":\"%s\",\"action\":\"ack\"}"
            .formatted(delivery.group(1), delivery.group(2));
  }

  @Override
  public void ack() throws IOException {
    String answer = post(path + "/settle", "{\"settlements\":[%s]}".formatted(settlement));
    if (answer.contains("error")) {
      throw new WrongAnswer("the acknowledgement failed: " + answer);
    }
  }

  @Override
  public void decide() throws IOException {
    post("/v1/decide", "{\"costs\":{\"%s\":1}}".formatted(Population.GOOD_LIMIT));
  }

  @Override
  public void close() throws IOException {
    client.close();
  }
}
