package dev.sluice.server.http;

import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Pattern;

/** Evaluates preferences in request headers, as RFC 9110 defines them. */
public final class HttpHeaderPreferences {
  private static final Pattern TAG = Pattern.compile("(?:W/)?(\"[^\"]*\")");
  private static final Pattern NEVER = Pattern.compile("[qQ]=0(\\.0{0,3})?");

  private HttpHeaderPreferences() {}

  /**
   * Returns whether {@code If-None-Match} contains the tag; weak and strong tags are equal here.
   */
  public static boolean has(String ifNoneMatch, String tag) {
    return ifNoneMatch.strip().equals("*")
        || TAG.matcher(ifNoneMatch).results().anyMatch(each -> tag.endsWith(each.group(1)));
  }

  /**
   * Returns whether {@code Accept-Encoding} allows gzip; an entry for gzip overrides one for all.
   */
  public static boolean takesGzip(String acceptEncoding) {
    boolean others = false;
    for (String each : acceptEncoding.split(",", -1)) {
      String[] parts = each.split(";", -1);
      boolean wanted =
          Arrays.stream(parts).skip(1).noneMatch(part -> NEVER.matcher(part.strip()).matches());
      String coding = parts[0].strip().toLowerCase(Locale.ROOT);
      if (coding.equals("gzip") || coding.equals("x-gzip")) {
        return wanted;
      }
      others |= coding.equals("*") && wanted;
    }
    return others;
  }
}
