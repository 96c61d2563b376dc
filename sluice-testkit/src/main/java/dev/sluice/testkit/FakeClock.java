package dev.sluice.testkit;

import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;

/** Starts a program on a wrong clock, by the library that comes with the command faketime. */
public final class FakeClock {
  /*
   * The command itself would stay as the server's parent, and signals would meet the wrong process.
   * The C library comes second so that the server allocates by it: jemalloc asks for the time before
   * the false clock is ready to answer. The linker fills in $LIB.
   */
  private static final String PRELOAD = "/usr/$LIB/faketime/libfaketime.so.1:libc.so.6";

  private static final DateTimeFormatter STANDING =
      DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS").withZone(ZoneOffset.UTC);

  private FakeClock() {}

  /** Prefix of a command; the process reads the offset from the file at each call. */
  public static List<String> prefix(Path offsetFile) {
    return List.of(
        "env",
        "TZ=UTC",
        "LD_PRELOAD=" + PRELOAD,
        "FAKETIME_TIMESTAMP_FILE=" + offsetFile,
        "FAKETIME_NO_CACHE=1",
        // Only the time of day is wrong: timers go on as they are.
        "FAKETIME_DONT_FAKE_MONOTONIC=1");
  }

  /** Prefix of a command whose offset does not change. */
  public static List<String> prefix(Duration offset) {
    return List.of(
        "env",
        "LD_PRELOAD=" + PRELOAD,
        "FAKETIME=" + text(offset).strip(),
        "FAKETIME_DONT_FAKE_MONOTONIC=1");
  }

  /** The content of that file for a clock that stands still, to the microsecond. */
  public static String text(Instant standing) {
    // The fraction goes through a double: half a microsecond more, so that none is lost.
    return STANDING.format(standing) + "5\n";
  }

  /** The content of that file for a clock that goes. */
  public static String text(Duration offset) {
    BigDecimal seconds =
        BigDecimal.valueOf(offset.getSeconds()).add(BigDecimal.valueOf(offset.getNano(), 9));
    return (seconds.signum() < 0 ? "" : "+") + seconds.toPlainString() + "s\n";
  }
}
