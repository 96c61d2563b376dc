package dev.sluice.server.config;

import dev.sluice.server.InvalidSettingsException;
import dev.sluice.server.ListenConfig;
import dev.sluice.server.RedisConfig;
import dev.sluice.server.Secret;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The type of the values of a setting.
 *
 * @param description for the documentation
 * @param form how a file has them
 * @param parser from text; throws an {@link IllegalArgumentException} that says the rule alone
 */
public record SettingType<T>(String description, Form form, Function<String, T> parser) {
  /** The form of a value in a file. */
  public enum Form {
    NUMBER,
    /** A number, or the text {@code off}. */
    NUMBER_OR_OFF,
    TEXT,
    /** A text that is never shown. */
    SECRET
  }

  /** Any number of so many digits fits a long. */
  private static final Pattern WHOLE_NUMBER = Pattern.compile("[0-9]{1,18}");

  private static final Pattern DURATION = Pattern.compile("([0-9]{1,9})(ms|s|m|h)");

  private static final String OFF = "off";

  /** The most characters of a value in a message. */
  private static final int MAX_SHOWN = 60;

  static SettingType<String> text() {
    return new SettingType<>("text", Form.TEXT, SettingType::notBlank);
  }

  static SettingType<Path> path() {
    return new SettingType<>("path", Form.TEXT, SettingType::parsePath);
  }

  static SettingType<Secret> secret() {
    return new SettingType<>("secret", Form.SECRET, SettingType::parseSecret);
  }

  /** A text that may be empty, or the literal <code>${REDIS_URL}</code>, for no Redis. */
  static SettingType<String> redisUrl() {
    return new SettingType<>("secret URL", Form.SECRET, SettingType::parseRedisUrl);
  }

  static SettingType<URI> url() {
    return new SettingType<>("URL", Form.TEXT, SettingType::parseUrl);
  }

  static SettingType<Integer> integer(int least, int most) {
    return new SettingType<>(
        "number, %d to %d".formatted(least, most),
        Form.NUMBER,
        text -> (int) parseNumber(text, least, most));
  }

  /** A port from 0 to {@code most}, or {@code off}, which is {@link ListenConfig#OFF}. */
  static SettingType<Integer> portOrOff(int most) {
    return new SettingType<>(
        "number, 0 to %d, or off".formatted(most),
        Form.NUMBER_OR_OFF,
        text -> parsePortOrOff(text, most));
  }

  static SettingType<Long> wholeNumber(long least, long most) {
    return new SettingType<>(
        "number, %d to %d".formatted(least, most),
        Form.NUMBER,
        text -> parseNumber(text, least, most));
  }

  /** The bounds as a user would write them. */
  static SettingType<Duration> duration(String least, String most) {
    return new SettingType<>(
        "duration, %s to %s".formatted(least, most),
        Form.TEXT,
        text -> parseDuration(text, least, most));
  }

  static SettingType<String> oneOf(String... choices) {
    String all = String.join(", ", choices);
    return new SettingType<>(
        "one of " + all, Form.TEXT, text -> choice(text, List.of(choices), all));
  }

  /** {@code origin} says where the text was found. */
  T parse(String origin, String text) {
    try {
      return parser.apply(text);
    } catch (IllegalArgumentException broken) {
      String value = form == Form.SECRET ? "" : ", but was " + shown(text);
      throw new InvalidSettingsException(origin + " " + broken.getMessage() + value);
    }
  }

  /**
   * A user's text in a message: cut if long, without characters that would upset a terminal, and
   * without the password of a URL.
   */
  static String shown(String text) {
    String open = text.replaceAll("(?s)//.*@", "//***@");
    String part = open.length() > MAX_SHOWN ? open.substring(0, MAX_SHOWN) + "..." : open;
    return "'" + part.replaceAll("\\p{Cntrl}", "?") + "'";
  }

  private static String notBlank(String text) {
    if (text.isBlank() || text.chars().anyMatch(Character::isISOControl)) {
      throw new IllegalArgumentException("must be text, without control characters");
    }
    return text;
  }

  private static Path parsePath(String text) {
    try {
      return Path.of(notBlank(text));
    } catch (InvalidPathException invalid) {
      throw new IllegalArgumentException("must be a path", invalid);
    }
  }

  private static Secret parseSecret(String text) {
    try {
      return new Secret(text);
    } catch (IllegalArgumentException invalid) {
      throw new IllegalArgumentException("is invalid: " + invalid.getMessage(), invalid);
    }
  }

  private static String parseRedisUrl(String text) {
    if (!RedisConfig.isNone(text)) {
      try {
        RedisConfig.at(text);
      } catch (IllegalArgumentException invalid) {
        throw new IllegalArgumentException("is invalid: " + invalid.getMessage(), invalid);
      }
    }
    return text;
  }

  private static URI parseUrl(String text) {
    String rule = "must be a URL such as http://localhost:4318, without a user";
    try {
      URI url = new URI(text);
      boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
      if (!http || url.getHost() == null || url.getRawUserInfo() != null) {
        throw new IllegalArgumentException(rule);
      }
      return url;
    } catch (URISyntaxException invalid) {
      throw new IllegalArgumentException(rule, invalid);
    }
  }

  private static long parseNumber(String text, long least, long most) {
    boolean inRange =
        WHOLE_NUMBER.matcher(text).matches()
            && Long.parseLong(text) >= least
            && Long.parseLong(text) <= most;
    if (!inRange) {
      throw new IllegalArgumentException(
          "must be a whole number from %d to %d".formatted(least, most));
    }
    return Long.parseLong(text);
  }

  private static int parsePortOrOff(String text, int most) {
    if (text.equalsIgnoreCase(OFF)) {
      return ListenConfig.OFF;
    }
    try {
      return (int) parseNumber(text, 0, most);
    } catch (IllegalArgumentException broken) {
      throw new IllegalArgumentException(broken.getMessage() + ", or off", broken);
    }
  }

  private static Duration parseDuration(String text, String least, String most) {
    Matcher matcher = DURATION.matcher(text);
    if (matcher.matches()) {
      Duration duration = parseDuration(text);
      if (duration.compareTo(parseDuration(least)) >= 0
          && duration.compareTo(parseDuration(most)) <= 0) {
        return duration;
      }
    }
    throw new IllegalArgumentException(
        "must be a number with the unit ms, s, m or h, from %s to %s".formatted(least, most));
  }

  private static Duration parseDuration(String text) {
    Matcher matcher = DURATION.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException("must be a number with the unit ms, s, m or h");
    }
    long amount = Long.parseLong(matcher.group(1));
    return switch (matcher.group(2)) {
      case "ms" -> Duration.ofMillis(amount);
      case "s" -> Duration.ofSeconds(amount);
      case "m" -> Duration.ofMinutes(amount);
      default -> Duration.ofHours(amount);
    };
  }

  private static String choice(String text, List<String> choices, String all) {
    String lower = text.toLowerCase(Locale.ROOT);
    if (!choices.contains(lower)) {
      throw new IllegalArgumentException("must be one of " + all);
    }
    return lower;
  }
}
