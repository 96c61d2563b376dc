package dev.sluice.broker.internal.lua;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Locale;
import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Varargs;

/** {@code string.format} of Lua 5.2; LuaJ's ignores width and precision of most conversions. */
final class StringFormat {
  private static final String FLAGS = "-+ #0";

  /** Digits of a double cost more than other characters. */
  private static final int DOUBLE_STEPS = 100;

  private static final int DEFAULT_PRECISION = 6;

  private final ResourceGuard guard;
  private final Varargs args;
  private final LuaString format;
  private final ScriptStringBuilder out;
  private int at;
  private int arg = 1;

  private StringFormat(ResourceGuard guard, Varargs args, LuaString format) {
    this.guard = guard;
    this.args = args;
    this.format = format;
    this.out = new ScriptStringBuilder(guard);
  }

  /** Width and precision are -1 where not given. */
  private record Spec(String flags, int width, int precision, char conversion) {
    boolean has(char flag) {
      return flags.indexOf(flag) >= 0;
    }
  }

  static LuaString format(ResourceGuard guard, Varargs args, LuaString format) {
    return new StringFormat(guard, args, format).run();
  }

  private LuaString run() {
    while (at < format.m_length) {
      guard.spend(1);
      int c = format.luaByte(at++);
      if (c != '%') {
        out.append(c);
      } else if (peek() == '%') {
        at++;
        out.append('%');
      } else {
        convert(spec());
      }
    }
    return out.toLua();
  }

  private int peek() {
    return at < format.m_length ? format.luaByte(at) : 0;
  }

  private Spec spec() {
    StringBuilder flags = new StringBuilder();
    while (peek() != 0 && FLAGS.indexOf(peek()) >= 0) {
      flags.append((char) format.luaByte(at++));
      if (flags.length() > FLAGS.length()) {
        throw new ScriptError("invalid format (repeated flags)");
      }
    }
    int width = number();
    int precision = -1;
    if (peek() == '.') {
      at++;
      precision = Math.max(number(), 0);
    }
    if (Character.isDigit(peek())) {
      throw new ScriptError("invalid format (width or precision too long)");
    }
    char conversion = (char) peek();
    at++;
    return new Spec(flags.toString(), width, precision, conversion);
  }

  /** At most two digits, or -1. */
  private int number() {
    int value = -1;
    for (int i = 0; i < 2 && peek() >= '0' && peek() <= '9'; i++) {
      value = Math.max(value, 0) * 10 + format.luaByte(at++) - '0';
    }
    return value;
  }

  private void convert(Spec spec) {
    arg++;
    switch (spec.conversion) {
      case 'c' -> out.append((int) integer());
      case 'd', 'i' -> signed(spec, integer());
      case 'u' -> digits(spec, "", Long.toUnsignedString(integer()));
      case 'o' -> digits(spec, "", Long.toOctalString(integer()));
      case 'x' -> digits(spec, "", Long.toHexString(integer()));
      case 'X' -> digits(spec, "", Long.toHexString(integer()).toUpperCase(Locale.ROOT));
      case 'e', 'E', 'f', 'F', 'g', 'G' -> floating(spec, number(args.arg(arg)));
      case 'q' -> quote(string());
      case 's' -> text(spec, string());
      default -> throw new ScriptError("invalid option '%" + spec.conversion + "' to 'format'");
    }
  }

  private LuaString string() {
    if (arg > args.narg()) {
      throw new ScriptError("bad argument #" + arg + " to 'format' (no value)");
    }
    return BaseLibrary.text(guard, args.arg(arg));
  }

  private long integer() {
    return (long) number(args.arg(arg));
  }

  private double number(LuaValue value) {
    if (!value.isnumber()) {
      throw new ScriptError(
          "bad argument #" + arg + " to 'format' (number expected, got " + value.typename() + ")");
    }
    return value.todouble();
  }

  private void signed(Spec spec, long value) {
    // Long.MIN_VALUE has no opposite, but the right digits.
    digits(spec, sign(spec, value < 0), Long.toUnsignedString(Math.abs(value)));
  }

  private static String sign(Spec spec, boolean negative) {
    if (negative) {
      return "-";
    }
    return spec.has('+') ? "+" : spec.has(' ') ? " " : "";
  }

  private void digits(Spec spec, String sign, String digits) {
    int zeros = Math.max(spec.precision - digits.length(), 0);
    if (spec.precision < 0 && spec.has('0') && !spec.has('-')) {
      zeros = Math.max(spec.width - sign.length() - digits.length(), 0);
    }
    pad(spec, sign + "0".repeat(zeros) + digits);
  }

  private void pad(Spec spec, String text) {
    int missing = spec.width - text.length();
    out.append(' ', spec.has('-') ? 0 : missing);
    out.append(text);
    out.append(' ', spec.has('-') ? missing : 0);
  }

  private void text(Spec spec, LuaString text) {
    int length = spec.precision < 0 ? text.m_length : Math.min(spec.precision, text.m_length);
    int missing = spec.width - length;
    out.append(' ', spec.has('-') ? 0 : missing);
    out.append(text, 0, length);
    out.append(' ', spec.has('-') ? missing : 0);
  }

  private void quote(LuaString text) {
    out.append('"');
    for (int i = 0; i < text.m_length; i++) {
      guard.spend(1);
      int c = text.luaByte(i);
      boolean beforeDigit = i + 1 < text.m_length && Character.isDigit(text.luaByte(i + 1));
      if (c == '"' || c == '\\' || c == '\n') {
        out.append('\\');
        out.append(c);
      } else if (c < ' ' || c == 0x7f) {
        out.append(beforeDigit ? String.format(Locale.ROOT, "\\%03d", c) : "\\" + c);
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }

  private void floating(Spec spec, double value) {
    guard.spend(DOUBLE_STEPS);
    boolean finite = Double.isFinite(value);
    double size = Math.abs(value);
    int precision = spec.precision < 0 ? DEFAULT_PRECISION : spec.precision;
    String digits =
        switch (Character.toLowerCase(spec.conversion)) {
          case 'e' -> finite ? scientific(size, precision) : special(size);
          case 'f' -> finite ? fixed(size, precision) : special(size);
          default -> general(size, precision);
        };
    String text = Character.isUpperCase(spec.conversion) ? upper(digits) : digits;
    String sign = sign(spec, value < 0);
    Spec whole = new Spec(finite ? spec.flags : "", spec.width, -1, spec.conversion);
    digits(whole, sign, text);
  }

  private static String upper(String text) {
    return text.toUpperCase(Locale.ROOT);
  }

  private static String special(double value) {
    return Double.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }

  private static String fixed(double value, int precision) {
    return new BigDecimal(value).setScale(precision, RoundingMode.HALF_EVEN).toPlainString();
  }

  private static String scientific(double value, int precision) {
    BigDecimal exact = new BigDecimal(value);
    MathContext digits = new MathContext(precision + 1, RoundingMode.HALF_EVEN);
    BigDecimal rounded = exact.round(digits);
    String unscaled = rounded.unscaledValue().abs().toString();
    int exponent = value == 0 ? 0 : unscaled.length() - 1 - rounded.scale();
    String mantissa = unscaled + "0".repeat(Math.max(precision + 1 - unscaled.length(), 0));
    String point = precision == 0 ? "" : "." + mantissa.substring(1, precision + 1);
    String sign = value < 0 ? "-" : "";
    char direction = exponent < 0 ? '-' : '+';
    String power = (Math.abs(exponent) < 10 ? "0" : "") + Math.abs(exponent);
    return sign + mantissa.charAt(0) + point + "e" + direction + power;
  }

  /** As {@code %g} writes it: the shorter of both forms, without zeros at the end. */
  static String general(double value, int precision) {
    if (!Double.isFinite(value)) {
      return special(value);
    }
    int digits = Math.max(precision, 1);
    String scientific = scientific(value, digits - 1);
    int e = scientific.indexOf('e');
    int exponent = Integer.parseInt(scientific.substring(e + 1));
    if (exponent < -4 || exponent >= digits) {
      return withoutZeros(scientific.substring(0, e)) + scientific.substring(e);
    }
    return withoutZeros(fixed(value, digits - 1 - exponent));
  }

  private static String withoutZeros(String number) {
    if (number.indexOf('.') < 0) {
      return number;
    }
    int end = number.length();
    while (number.charAt(end - 1) == '0') {
      end--;
    }
    return number.substring(0, number.charAt(end - 1) == '.' ? end - 1 : end);
  }
}
