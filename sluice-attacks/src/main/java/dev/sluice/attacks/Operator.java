package dev.sluice.attacks;

import dev.sluice.attacks.wire.HttpClient;
import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The operator of the server, who must be able to read events and to create keys and queues under
 * any attack by tenants. Uses a new connection each time, as the command line does.
 */
final class Operator {
  private static final Pattern ID = Pattern.compile("\"id\":\"([^\"]+)\"");

  private final AttackedServer server;

  Operator(AttackedServer server) {
    this.server = server;
  }

  /** Makes and removes a key and a queue, and looks at the events. */
  void call(int turn) throws IOException {
    try (HttpClient client = server.connectHttp(AttackedServer.BOOTSTRAP_KEY)) {
      key(client);
      queue(client, "operator.q" + turn);
      events(client);
    }
  }

  private static void key(HttpClient client) throws IOException {
    String made = call(client, "POST", "/v1/api-keys", "{\"name\":\"a\",\"permissions\":[]}");
    Matcher id = ID.matcher(made);
    if (!id.find()) {
      throw new GoodClient.WrongAnswer("no key: " + made);
    }
    call(client, "DELETE", "/v1/api-keys/" + id.group(1), "");
  }

  private static void queue(HttpClient client, String name) throws IOException {
    call(client, "POST", "/v1/queues", "{\"name\":\"%s\"}".formatted(name));
    call(client, "DELETE", "/v1/queues/" + name, "");
  }

  private static void events(HttpClient client) throws IOException {
    client.send("GET", "/v1/events", "");
    int status = client.readStatus();
    if (status != 200) {
      throw new GoodClient.WrongAnswer("events: " + status);
    }
    String line = client.readLine();
    while (!line.contains("data:")) {
      line = client.readLine();
    }
  }

  private static String call(HttpClient client, String method, String path, String body)
      throws IOException {
    HttpClient.Reply reply = client.call(method, path, body);
    if (reply.status() >= 300) {
      throw new GoodClient.WrongAnswer("%s %s: %s".formatted(method, path, reply));
    }
    return reply.body();
  }
}
