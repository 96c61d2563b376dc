package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.BrokerException.Code;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A flipped bit is reported when the broker is opened; nothing is skipped. */
@Tag("any-jdk")
final class BrokerDamageTest {
  private static final int MESSAGES = 300;

  @TempDir private Path temp;
  private Path dir;

  @BeforeEach
  void fill() {
    dir = temp.resolve("broker");
    try (Broker broker = Broker.open(dir)) {
      broker.createQueue("q");
      for (int i = 0; i < 3; i++) {
        broker.enqueueAll("q", messages(MESSAGES / 3)).join();
      }
    }
  }

  private static List<Message> messages(int count) {
    return IntStream.range(0, count).mapToObj(KillLoad::message).toList();
  }

  private static void assertDamaged(Path dir, String word) {
    assertThatThrownBy(() -> Broker.open(dir))
        .isInstanceOfSatisfying(
            BrokerException.class, e -> assertThat(e.code()).isEqualTo(Code.STORE_FAILED))
        .hasMessageContaining("open: ")
        .message()
        .containsPattern(word)
        .contains(dir.toString());
  }

  /** Damages a copy of the directory and, by the same flips, repairs it again. */
  private void assertEachFlipIsReported(Path file, int flips, String word) throws IOException {
    Random random = new Random(1);
    for (int i = 0; i < flips; i++) {
      Path image = StoreImage.copy(dir, temp.resolve("image" + i));
      Path damaged = image.resolve(file.getFileName());
      long bit = random.nextLong(StoreImage.bits(damaged));
      StoreImage.flip(damaged, bit);
      assertDamaged(image, word);
      assertDamaged(image, word);
      StoreImage.flip(damaged, bit);
      assertWhole(image);
    }
  }

  private static void assertWhole(Path dir) {
    try (Broker broker = Broker.open(dir)) {
      assertThat(broker.stats("q").depth()).isEqualTo(MESSAGES);
      assertThat(broker.view().browse("q", null, MESSAGES + 1, BrokerView.PreviewSize.ALL))
          .hasSize(MESSAGES)
          .allSatisfy(message -> KillLoad.number(message.payload()));
    }
  }

  @Test
  void flippedBitInTheLog_isReported_andNothingIsSkipped() throws IOException {
    assertEachFlipIsReported(StoreImage.newestLog(dir), 12, "damaged");
  }

  @Test
  void flippedBitInATable_isReported_andNothingIsSkipped() throws IOException {
    // To open it moves what was logged to table files.
    assertWhole(dir);
    List<Path> tables = StoreImage.files(dir, ".sst");
    assertThat(tables).isNotEmpty();
    assertEachFlipIsReported(largest(tables), 12, "\\.sst|corrupted");
  }

  private static Path largest(List<Path> files) {
    return files.stream()
        .max(Comparator.comparingLong(file -> file.toFile().length()))
        .orElseThrow();
  }
}
