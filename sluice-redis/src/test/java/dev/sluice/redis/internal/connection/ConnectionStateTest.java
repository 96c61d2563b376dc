package dev.sluice.redis.internal.connection;

import static dev.sluice.redis.internal.connection.ConnectionState.CONNECTED;
import static dev.sluice.redis.internal.connection.ConnectionState.OUT;
import static dev.sluice.redis.internal.connection.ConnectionState.RETURNING;
import static dev.sluice.redis.internal.connection.ConnectionState.SUSPECT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.internal.connection.ConnectionState.Event;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The transition table, as its diagram and docs/redis.md show it. */
@Tag("any-jdk")
final class ConnectionStateTest {
  private static final Map<ConnectionState, Map<Event, ConnectionState>> EDGES =
      Map.of(
          CONNECTED,
          Map.of(Event.SILENT, SUSPECT, Event.ABSENT, RETURNING),
          SUSPECT,
          Map.of(Event.ANSWERED, CONNECTED, Event.GIVEN_UP, OUT, Event.ABSENT, RETURNING),
          OUT,
          Map.of(Event.PROBED, RETURNING),
          RETURNING,
          Map.of(Event.ADMITTED, CONNECTED, Event.FAILED, OUT));

  @Test
  void everyEvent_inEveryState_followsTheDiagram() {
    for (ConnectionState state : ConnectionState.values()) {
      for (Event event : Event.values()) {
        assertThat(state.after(event))
            .as("%s in %s", event, state)
            .isEqualTo(EDGES.get(state).getOrDefault(event, state));
      }
    }
  }

  @Test
  void redisIsAsked_onlyInConnectedAndSuspect() {
    assertThat(ConnectionState.values())
        .filteredOn(ConnectionState::asksRedis)
        .containsExactly(CONNECTED, SUSPECT);
  }
}
