package dev.sluice.broker.internal.lua;

import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Varargs;

/**
 * Matches a Lua 5.2 pattern, and charges every step to the script.
 *
 * <p>Backtracking takes exponential time on patterns such as {@code a?a?a?aaa}; the instructions of
 * the interpreter say nothing about that. Classes are those of the C locale.
 */
final class StringPattern {
  static final int FAIL = -1;

  private static final int MAX_CAPTURES = 32;
  private static final int MAX_DEPTH = 200;
  private static final int UNFINISHED = -1;
  private static final int POSITION = -2;
  private static final int COMPARED_PER_STEP = 8;

  private final ResourceGuard guard;
  private final LuaString subject;
  private final LuaString pattern;
  private final int length;
  private final int patternLength;
  private final int[] starts = new int[MAX_CAPTURES];
  private final int[] lengths = new int[MAX_CAPTURES];
  private int captures;
  private int depth;

  StringPattern(ResourceGuard guard, LuaString subject, LuaString pattern) {
    this.guard = guard;
    this.subject = subject;
    this.pattern = pattern;
    this.length = subject.m_length;
    this.patternLength = pattern.m_length;
  }

  boolean isAnchored() {
    return pat(0) == '^' && patternLength > 0;
  }

  /** The end of a match that begins at {@code start}, or {@link #FAIL}. */
  int matchAt(int start, int patternStart) {
    captures = 0;
    depth = 0;
    return match(start, patternStart);
  }

  /** The captures, or the whole match if the pattern has none. */
  Varargs captures(int start, int end) {
    return captures == 0 ? capture(0, start, end) : LuaValue.varargsOf(all(start, end));
  }

  /** The captures, none if the pattern has none. */
  Varargs onlyCaptures(int start, int end) {
    return captures == 0 ? LuaValue.NONE : LuaValue.varargsOf(all(start, end));
  }

  LuaValue capture(int index, int start, int end) {
    if (index >= captures) {
      if (index > 0) {
        throw new ScriptError("invalid capture index");
      }
      return slice(start, end);
    }
    return switch (lengths[index]) {
      case UNFINISHED -> throw new ScriptError("unfinished capture");
      case POSITION -> LuaValue.valueOf(starts[index] + 1);
      default -> slice(starts[index], starts[index] + lengths[index]);
    };
  }

  LuaString slice(int start, int end) {
    guard.reserve((long) end - start);
    return subject.substring(start, end);
  }

  private LuaValue[] all(int start, int end) {
    LuaValue[] values = new LuaValue[captures];
    for (int i = 0; i < values.length; i++) {
      values[i] = capture(i, start, end);
    }
    return values;
  }

  private int match(int from, int patternFrom) {
    if (++depth > MAX_DEPTH) {
      throw new ScriptError("pattern too complex");
    }
    int end = matchItems(from, patternFrom);
    depth--;
    return end;
  }

  private int matchItems(int from, int patternFrom) {
    int s = from;
    int p = patternFrom;
    while (p < patternLength) {
      guard.spend(1);
      int c = pat(p);
      if (c == '(') {
        return pat(p + 1) == ')' ? open(s, p + 2, POSITION) : open(s, p + 1, UNFINISHED);
      }
      if (c == ')') {
        return close(s, p + 1);
      }
      if (c == '$' && p + 1 == patternLength) {
        return s == length ? s : FAIL;
      }
      if (c == '%' && isSpecial(pat(p + 1))) {
        s = matchSpecial(s, p);
        if (s == FAIL) {
          return FAIL;
        }
        p = afterSpecial(p);
        continue;
      }
      int end = classEnd(p);
      int suffix = pat(end);
      if (!matchOne(s, p, end)) {
        if (suffix != '*' && suffix != '?' && suffix != '-') {
          return FAIL;
        }
        p = end + 1;
        continue;
      }
      switch (suffix) {
        case '*' -> {
          return expandMost(s, p, end);
        }
        case '+' -> {
          return expandMost(s + 1, p, end);
        }
        case '-' -> {
          return expandLeast(s, p, end);
        }
        case '?' -> {
          int rest = match(s + 1, end + 1);
          if (rest != FAIL) {
            return rest;
          }
          p = end + 1;
        }
        default -> {
          s++;
          p = end;
        }
      }
    }
    return s;
  }

  /** {@code %b}, {@code %f} and {@code %1}: items that are no class. */
  private static boolean isSpecial(int c) {
    return c == 'b' || c == 'f' || isDigit(c);
  }

  private int matchSpecial(int s, int p) {
    return switch (pat(p + 1)) {
      case 'b' -> matchBalance(s, p + 2);
      case 'f' -> matchFrontier(s, p + 2);
      default -> matchCapture(s, pat(p + 1) - '1');
    };
  }

  private int afterSpecial(int p) {
    return switch (pat(p + 1)) {
      case 'b' -> p + 4;
      case 'f' -> classEnd(p + 2);
      default -> p + 2;
    };
  }

  private int matchBalance(int from, int p) {
    if (p + 1 >= patternLength) {
      throw new ScriptError("malformed pattern (a balance needs two characters)");
    }
    if (from >= length || sub(from) != pat(p)) {
      return FAIL;
    }
    int open = 1;
    for (int s = from + 1; s < length; s++) {
      guard.spend(1);
      int c = sub(s);
      if (c == pat(p + 1)) {
        if (--open == 0) {
          return s + 1;
        }
      } else if (c == pat(p)) {
        open++;
      }
    }
    return FAIL;
  }

  private int matchFrontier(int s, int p) {
    if (pat(p) != '[') {
      throw new ScriptError("malformed pattern (a frontier needs a set)");
    }
    int last = classEnd(p) - 1;
    int before = s == 0 ? 0 : sub(s - 1);
    int after = s < length ? sub(s) : 0;
    return !matchSet(before, p, last) && matchSet(after, p, last) ? s : FAIL;
  }

  private int matchCapture(int s, int index) {
    if (index < 0 || index >= captures || lengths[index] == UNFINISHED) {
      throw new ScriptError("invalid capture index");
    }
    int count = lengths[index];
    guard.spend(Math.max(count, 0) / COMPARED_PER_STEP);
    return count >= 0
            && length - s >= count
            && LuaString.equals(subject, starts[index], subject, s, count)
        ? s + count
        : FAIL;
  }

  private int open(int s, int p, int kind) {
    if (captures == MAX_CAPTURES) {
      throw new ScriptError("too many captures");
    }
    starts[captures] = s;
    lengths[captures] = kind;
    captures++;
    int end = match(s, p);
    if (end == FAIL) {
      captures--;
    }
    return end;
  }

  private int close(int s, int p) {
    int last = captures - 1;
    while (last >= 0 && lengths[last] != UNFINISHED) {
      last--;
    }
    if (last < 0) {
      throw new ScriptError("invalid pattern capture");
    }
    lengths[last] = s - starts[last];
    int end = match(s, p);
    if (end == FAIL) {
      lengths[last] = UNFINISHED;
    }
    return end;
  }

  private int expandMost(int s, int p, int classEnd) {
    int max = s;
    while (matchOne(max, p, classEnd)) {
      max++;
    }
    for (int at = max; at >= s; at--) {
      int end = match(at, classEnd + 1);
      if (end != FAIL) {
        return end;
      }
    }
    return FAIL;
  }

  private int expandLeast(int from, int p, int classEnd) {
    for (int s = from; ; s++) {
      int end = match(s, classEnd + 1);
      if (end != FAIL) {
        return end;
      }
      if (!matchOne(s, p, classEnd)) {
        return FAIL;
      }
    }
  }

  /** Past the class that begins at {@code start}. */
  private int classEnd(int start) {
    int p = start;
    int c = pat(p++);
    if (c == '%') {
      if (p >= patternLength) {
        throw new ScriptError("malformed pattern (ends with '%')");
      }
      return p + 1;
    }
    if (c != '[') {
      return p;
    }
    if (pat(p) == '^') {
      p++;
    }
    do {
      guard.spend(1);
      if (p >= patternLength) {
        throw new ScriptError("malformed pattern (missing ']')");
      }
      if (pat(p++) == '%' && p < patternLength) {
        p++;
      }
    } while (p >= patternLength || pat(p) != ']');
    return p + 1;
  }

  private boolean matchOne(int s, int p, int classEnd) {
    guard.spend(1);
    if (s >= length) {
      return false;
    }
    int c = sub(s);
    return switch (pat(p)) {
      case '.' -> true;
      case '%' -> isInClass(c, pat(p + 1));
      case '[' -> matchSet(c, p, classEnd - 1);
      default -> pat(p) == c;
    };
  }

  private boolean matchSet(int c, int start, int last) {
    int p = start + 1;
    boolean found = true;
    if (pat(p) == '^') {
      found = false;
      p++;
    }
    for (; p < last; p++) {
      guard.spend(1);
      if (pat(p) == '%') {
        p++;
        if (isInClass(c, pat(p))) {
          return found;
        }
      } else if (pat(p + 1) == '-' && p + 2 < last) {
        if (pat(p) <= c && c <= pat(p + 2)) {
          return found;
        }
        p += 2;
      } else if (pat(p) == c) {
        return found;
      }
    }
    return !found;
  }

  private static boolean isInClass(int c, int name) {
    boolean in;
    switch (name | 0x20) {
      case 'a' -> in = isAlpha(c);
      case 'c' -> in = c < ' ' || c == 0x7f;
      case 'd' -> in = isDigit(c);
      case 'g' -> in = c > ' ' && c < 0x7f;
      case 'l' -> in = c >= 'a' && c <= 'z';
      case 'p' -> in = c > ' ' && c < 0x7f && !isAlpha(c) && !isDigit(c);
      case 's' -> in = c == ' ' || (c >= '\t' && c <= '\r');
      case 'u' -> in = c >= 'A' && c <= 'Z';
      case 'w' -> in = isAlpha(c) || isDigit(c);
      case 'x' -> in = isDigit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
      case 'z' -> in = c == 0;
      default -> {
        return c == name;
      }
    }
    boolean negated = (name & 0x20) == 0;
    return in != negated;
  }

  private static boolean isAlpha(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }

  private static boolean isDigit(int c) {
    return c >= '0' && c <= '9';
  }

  private int sub(int index) {
    return subject.luaByte(index);
  }

  /** A byte of the pattern; 0 past its end, as in C. */
  private int pat(int index) {
    return index < patternLength ? pattern.luaByte(index) : 0;
  }
}
