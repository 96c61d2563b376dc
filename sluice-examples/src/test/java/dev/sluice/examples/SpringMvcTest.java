package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.Set;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.startup.Tomcat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.web.SpringServletContainerInitializer;

/** docs/recipes/spring-mvc.md in Spring MVC on Tomcat. */
final class SpringMvcTest {
  @TempDir Path directory;

  @Test
  void callersBeyondTheirLimit_getRetryAfter() throws Exception {
    Tomcat tomcat = new Tomcat();
    tomcat.setBaseDir(directory.toString());
    tomcat.setPort(0);
    tomcat.setSilent(true);
    StandardContext context = (StandardContext) tomcat.addContext("", directory.toString());
    context.setClearReferencesRmiTargets(false); // they want more access than tests have
    context.setClearReferencesThreadLocals(false);
    context.addServletContainerInitializer(
        new SpringServletContainerInitializer(), Set.of(WebApplication.class));
    tomcat.start();
    try {
      int port = tomcat.getConnector().getLocalPort();
      for (int left = 2; left >= 0; left--) {
        HttpResponse<String> granted = get(port);
        assertThat(granted.statusCode()).isEqualTo(200);
        assertThat(granted.body()).isEqualTo("hello");
        assertThat(header(granted, "RateLimit-Policy")).isEqualTo("\"caller\";q=3;w=180");
        assertThat(header(granted, "RateLimit")).startsWith("\"caller\";r=%d;t=".formatted(left));
      }
      HttpResponse<String> denied = get(port);
      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(denied.body()).isEmpty();
      assertThat(Integer.parseInt(header(denied, "Retry-After"))).isBetween(1, 60);
      assertThat(header(denied, "RateLimit")).startsWith("\"caller\";r=0;t=1");
    } finally {
      tomcat.stop();
      tomcat.destroy();
    }
  }

  private static HttpResponse<String> get(int port) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + port + "/greeting");
    return HttpClient.newHttpClient()
        .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
  }

  private static String header(HttpResponse<?> response, String name) {
    return response.headers().firstValue(name).orElseThrow();
  }
}
