package dev.sluice.properties;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SeedsTest {
  private static long[] chosen(int count, String... properties) {
    Properties set = new Properties();
    for (int i = 0; i < properties.length; i += 2) {
      set.setProperty(properties[i], properties[i + 1]);
    }
    return Seeds.chosen(count, set).toArray();
  }

  @Test
  void withoutSettings_theSameSeedsRunEveryTime() {
    assertThat(chosen(4)).containsExactly(0, 1, 2, 3);
  }

  @Test
  void numberAndFirstSeed_areChosenByProperty() {
    assertThat(chosen(4, "sluice.seeds", "2")).containsExactly(0, 1);
    assertThat(chosen(2, "sluice.seeds.first", "70")).containsExactly(70, 71);
    assertThat(chosen(3, "sluice.seeds.first", "9223372036854775807"))
        .containsExactly(Long.MAX_VALUE, Long.MIN_VALUE, Long.MIN_VALUE + 1);
  }

  @Test
  void chosenSeed_runsAlone() {
    assertThat(chosen(4, "sluice.seed", "-17", "sluice.seeds", "9")).containsExactly(-17);
  }

  @ParameterizedTest
  @ValueSource(strings = {"sluice.seed", "sluice.seeds", "sluice.seeds.first"})
  void settingThatIsNoNumber_isRefused(String name) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> chosen(4, name, "ten"))
        .withMessage(name + " must be a number, but was ten");
  }

  @Test
  void noSeeds_areRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> chosen(4, "sluice.seeds", "0"))
        .withMessage("the number of seeds must be positive, but was 0");
  }
}
