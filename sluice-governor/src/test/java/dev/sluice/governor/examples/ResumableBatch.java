package dev.sluice.governor.examples;

import dev.sluice.governor.Governor;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;

/**
 * Batch work that goes on as tokens come, and where it was after a crash. A chunk that has to wait,
 * or is refused, is asked for again: none is skipped.
 *
 * <p>The effect of a chunk is what it appends to {@code output}, exactly once: the checkpoint says
 * how many chunks are done and how long the output is with these, and replaces the one before in
 * one step, after the output is on the disk. Output beyond that length is cut off. The worker
 * itself is called again for the chunk at which it crashed, and asks under the same idempotency
 * key, so that a governor that outlived the crash charges it once.
 */
public final class ResumableBatch {
  private static final long LONGEST_PAUSE_MS = 5_000;
  private static final Duration AFTER_REFUSAL = Duration.ofSeconds(1);

  private final Governor governor;
  private final String model;
  private final Path directory;
  private final Pause pause;

  /**
   * A piece of the work.
   *
   * @param id which, the same after a crash
   * @param tokens what it takes at the most
   */
  public record Chunk(String id, long tokens) {}

  /**
   * The result of a chunk.
   *
   * @param text to be appended
   * @param usedTokens what it took
   */
  public record Result(String text, long usedTokens) {}

  /** Calls the model. */
  @FunctionalInterface
  public interface Worker {
    /**
     * Does a chunk.
     *
     * @param chunk which
     * @return what came of it
     */
    Result process(Chunk chunk);
  }

  /** Lets time pass. */
  @FunctionalInterface
  public interface Pause {
    /**
     * Comes back after about that.
     *
     * @param time how long
     * @throws InterruptedException if it is to end
     */
    void pause(Duration time) throws InterruptedException;
  }

  private record Checkpoint(int done, long length) {}

  /**
   * A batch of one model.
   *
   * @param governor of its tokens
   * @param model which
   * @param directory of its output and its checkpoint
   * @param pause how to wait
   */
  public ResumableBatch(Governor governor, String model, Path directory, Pause pause) {
    this.governor = governor;
    this.model = model;
    this.directory = directory;
    this.pause = pause;
  }

  /** Where results are. */
  public Path output() {
    return directory.resolve("output");
  }

  private Path checkpoint() {
    return directory.resolve("checkpoint");
  }

  /**
   * Does all chunks that are not done yet, in order.
   *
   * @param chunks the same list after a crash
   * @param worker calls the model
   * @throws IOException if the output or the checkpoint cannot be written
   * @throws InterruptedException if it was told to end
   */
  public void run(List<Chunk> chunks, Worker worker) throws IOException, InterruptedException {
    Checkpoint last = read();
    try (FileChannel output =
        FileChannel.open(output(), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      output.truncate(last.length());
      output.position(last.length());
      for (int i = last.done(); i < chunks.size(); i++) {
        TokenDecision.Granted granted = acquire(chunks.get(i));
        Result result = worker.process(chunks.get(i));
        writeAll(output, result.text());
        output.force(true);
        write(new Checkpoint(i + 1, output.position()));
        governor.blocking().settle(granted.reservation(), result.usedTokens());
      }
    }
  }

  private TokenDecision.Granted acquire(Chunk chunk) throws InterruptedException {
    TokenRequest request =
        TokenRequest.of(model, chunk.tokens())
            .withPriorityClass("P2_batch")
            .withIdempotencyKey(chunk.id());
    TokenDecision outcome = governor.blocking().request(request);
    while (true) {
      if (outcome instanceof TokenDecision.Granted granted) {
        return granted;
      } else if (outcome instanceof TokenDecision.Queued queued) {
        // Often enough that the ticket does not count as abandoned.
        long eta = queued.eta().map(Duration::toMillis).orElse(LONGEST_PAUSE_MS);
        long millis = Math.max(1, Math.min(eta, LONGEST_PAUSE_MS));
        pause.pause(Duration.ofMillis(millis));
        outcome =
            governor
                .blocking()
                .poll(queued.ticket())
                .orElseGet(() -> governor.blocking().request(request));
      } else if (outcome instanceof TokenDecision.Impossible impossible) {
        throw new IllegalArgumentException(chunk.id() + ": " + impossible.message());
      } else {
        pause.pause(AFTER_REFUSAL);
        outcome = governor.blocking().request(request);
      }
    }
  }

  // ---- files

  private Checkpoint read() throws IOException {
    Files.createDirectories(directory);
    if (!Files.exists(checkpoint())) {
      return new Checkpoint(0, 0);
    }
    List<String> words = List.of(Files.readString(checkpoint()).strip().split(" ", -1));
    return new Checkpoint(Integer.parseInt(words.get(0)), Long.parseLong(words.get(1)));
  }

  private void write(Checkpoint checkpoint) throws IOException {
    Path next = directory.resolve("checkpoint.next");
    try (FileChannel file =
        FileChannel.open(
            next,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      writeAll(file, checkpoint.done() + " " + checkpoint.length() + "\n");
      file.force(true);
    }
    Files.move(
        next, checkpoint(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    try (FileChannel folder = FileChannel.open(directory)) {
      folder.force(true);
    }
  }

  private static void writeAll(FileChannel file, String text) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    while (bytes.hasRemaining()) {
      file.write(bytes);
    }
  }
}
