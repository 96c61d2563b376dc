package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.http.HttpRoute;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Paths of requests before their routes are known. */
@Tag("any-jdk")
final class HttpRouteTest {
  @Test
  void segments_areSplitAtSlashes() {
    assertThat(HttpRoute.segments("/v1/queues/a%2Fb")).containsExactly("", "v1", "queues", "a%2Fb");
    assertThat(HttpRoute.segments("/v1/")).containsExactly("", "v1", "");
  }

  /** Each route compares them, before anything is known about the caller. */
  @Test
  void pathOfThousandsOfSegments_isNotSplitIntoAll() {
    assertThat(HttpRoute.segments("/".repeat(15_000))).hasSizeLessThan(20);
    assertThat(HttpRoute.segments("/v1".repeat(5_000))).hasSizeLessThan(20);
  }
}
