package dev.sluice.testkit.load;

import dev.sluice.testkit.JavaProcess;
import dev.sluice.testkit.Programs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/**
 * Restricts processes to single CPU cores and keeps cores busy.
 *
 * @since 0.1
 */
public final class CpuCores {
  private CpuCores() {}

  /** Restricts all threads of a process to one core; threads that it starts later inherit that. */
  public static void pin(long pid, int core) {
    List<String> command =
        List.of(
            Programs.find("taskset"), "-a", "-p", "-c", Integer.toString(core), Long.toString(pid));
    try {
      Process taskset =
          new ProcessBuilder(command)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      int status = taskset.onExit().join().exitValue();
      if (status != 0) {
        throw new IllegalStateException("taskset failed with exit code " + status + ": " + command);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Starts a process whose threads compute without a pause on one core until it is closed. */
  public static JavaProcess burn(int core, int threads) {
    JavaProcess process = JavaProcess.start(Burner.class, List.of(Integer.toString(threads)));
    pin(process.pid(), core);
    return process;
  }

  /** The program of {@link #burn}. */
  static final class Burner {
    private Burner() {}

    public static void main(String[] args) throws IOException {
      for (int i = 0; i < Integer.parseInt(args[0]); i++) {
        Thread thread = new Thread(Burner::compute);
        thread.setDaemon(true);
        thread.start();
      }
      while (System.in.read() >= 0) {
        // Runs until the parent closes the pipe.
      }
    }

    private static void compute() {
      while (true) {
        Thread.onSpinWait();
      }
    }
  }
}
