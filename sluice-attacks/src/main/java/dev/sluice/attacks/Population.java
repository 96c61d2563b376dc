package dev.sluice.attacks;

import dev.sluice.attacks.catalog.Attacks;
import dev.sluice.attacks.catalog.Target;
import dev.sluice.attacks.wire.HttpClient;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The keys, queues and limits that the operator of a server has made for good and for hostile
 * clients.
 *
 * @param goodKey for the queues and the limit of the good clients
 */
record Population(String goodKey, Target target) {
  /** Good clients have a queue each. */
  static final int GOOD_QUEUES = 4;

  static final String GOOD_LIMIT = "good.limit";

  private static final int TENANT_KEYS = 8;
  private static final Pattern KEY = Pattern.compile("\"secret\":\"([^\"]+)\"");

  static String goodQueue(int number) {
    return "good.q" + number;
  }

  static Population settle(AttackedServer server) throws IOException {
    try (HttpClient operator = server.connectHttp(AttackedServer.BOOTSTRAP_KEY)) {
      for (int i = 0; i < GOOD_QUEUES; i++) {
        call(operator, "POST", "/v1/queues", "{\"name\":\"%s\"}".formatted(goodQueue(i)));
      }
      call(operator, "POST", "/v1/queues", "{\"name\":\"%s\"}".formatted(Attacks.QUEUE));
      String limit = "{\"rate_per_second\":1000000,\"burst\":1000000}";
      call(operator, "PUT", "/v1/limits/" + GOOD_LIMIT, limit);
      String good = key(operator, permissions("good.*"));
      String powerless = key(operator, "");
      List<String> tenants = new ArrayList<>();
      for (int i = 0; i < TENANT_KEYS; i++) {
        tenants.add(key(operator, permissions(Target.TENANT + "*")));
      }
      return new Population(good, new Target(server.grpc(), server.http(), powerless, tenants));
    }
  }

  private static String permissions(String pattern) {
    return Stream.of("produce", "consume", "limit", "admin")
        .map(kind -> "{\"kind\":\"%s\",\"pattern\":\"%s\"}".formatted(kind, pattern))
        .collect(Collectors.joining(","));
  }

  private static String key(HttpClient operator, String permissions) throws IOException {
    String body = "{\"name\":\"a\",\"permissions\":[%s]}".formatted(permissions);
    Matcher key = KEY.matcher(call(operator, "POST", "/v1/api-keys", body));
    if (!key.find()) {
      throw new IllegalStateException("the answer has no key");
    }
    return key.group(1);
  }

  private static String call(HttpClient operator, String method, String path, String body)
      throws IOException {
    HttpClient.Reply reply = operator.call(method, path, body);
    if (reply.status() >= 300) {
      throw new IllegalStateException("%s %s: %s".formatted(method, path, reply));
    }
    return reply.body();
  }
}
