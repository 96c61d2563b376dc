package dev.sluice.properties;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;

/**
 * Generates the random values of one case, all of them determined by its seed.
 *
 * <p>Values near a boundary find more mistakes than others. A part of the numbers is therefore an
 * edge: an end of the range, its neighbor, 0, 1, -1, or a number that the caller names. In one case
 * of four most numbers are edges, so that edges also meet each other. Of the other numbers in a
 * wide range half are close to 0, with every order of magnitude as likely as the next. Lists repeat
 * elements. Choices ({@link #pick}, {@link #below}, {@link #nextBoolean}) are uniform.
 *
 * <p>Not thread-safe.
 */
public final class Generator {
  /*
   * SplitMix64, written out because the JDK does not promise that its generators give the same
   * numbers in every version. The remainder in `uniform` prefers some numbers by a hair, which a test
   * does not notice.
   *
   * A list draws its elements from a generator of its own. Cutting it to maxListSize therefore
   * changes neither the elements that remain nor any value drawn after the list.
   */
  private static final long GAMMA = 0x9E37_79B9_7F4A_7C15L;
  private static final long NARROW = 64;

  private final long seed;
  private final int maxListSize;
  private final int edgesInSixteen;
  private final List<Object> values = new ArrayList<>();
  private long state;
  private int longestList;

  Generator(long seed, int maxListSize) {
    this.seed = seed;
    this.maxListSize = maxListSize;
    this.state = mix(seed);
    this.edgesInSixteen = uniform(0, 3) == 0 ? 12 : 1;
  }

  /** The generator of the elements of a list. */
  private Generator(Generator parent) {
    this.seed = parent.seed;
    this.maxListSize = parent.maxListSize;
    this.edgesInSixteen = parent.edgesInSixteen;
    this.state = parent.nextBits();
  }

  /**
   * Returns the seed of the case, for code that seeds a generator of its own.
   *
   * @return the number that {@code -Dsluice.seed} takes
   */
  public long seed() {
    return seed;
  }

  /**
   * Returns a number from {@code min} to {@code max}, often an edge.
   *
   * @param min the least number
   * @param max the largest number, inclusive
   * @param edges further numbers to try often, besides the ends of the range
   * @return the number
   */
  public long longBetween(long min, long max, long... edges) {
    return note(drawLong(min, max, edges));
  }

  /**
   * Returns a number from {@code min} to {@code max}, often an edge.
   *
   * @param min the least number
   * @param max the largest number, inclusive
   * @return the number
   */
  public int intBetween(int min, int max) {
    return note((int) drawLong(min, max));
  }

  /**
   * Returns a number from 0 to {@code bound - 1}, each equally likely.
   *
   * @param bound how many numbers there are
   * @return the number
   */
  public int below(int bound) {
    return note((int) uniform(0, bound - 1L));
  }

  /**
   * Returns true or false, both equally likely.
   *
   * @return one of them
   */
  public boolean nextBoolean() {
    return note(nextBits() < 0);
  }

  /**
   * Returns one of some values, each equally likely.
   *
   * @param <T> the type of the values
   * @param options the values, at least one
   * @return one of them
   */
  @SafeVarargs
  @SuppressWarnings("varargs")
  public final <T> T pick(T... options) {
    return note(options[(int) uniform(0, options.length - 1L)]);
  }

  /**
   * Returns a list whose size is often {@code min}, {@code max} or close to them, and in which some
   * elements occur more than once.
   *
   * @param <T> the type of the elements, which should be immutable
   * @param min the least size
   * @param max the largest size, inclusive
   * @param element draws an element from the generator it is given
   * @return an unmodifiable list
   */
  public <T> List<T> list(int min, int max, Function<? super Generator, ? extends T> element) {
    int size = (int) drawLong(min, max);
    longestList = Math.max(longestList, size);
    Generator child = new Generator(this);
    List<T> list = new ArrayList<>();
    for (int cut = Math.max(min, Math.min(size, maxListSize)); list.size() < cut; ) {
      boolean repeat = child.uniform(0, 7) == 0 && !list.isEmpty();
      list.add(repeat ? list.get((int) child.uniform(0, list.size() - 1L)) : element.apply(child));
    }
    longestList = Math.max(longestList, child.longestList);
    return note(Collections.unmodifiableList(list));
  }

  /**
   * Returns a string of the given characters.
   *
   * @param maxLength the largest length, inclusive
   * @param alphabet the characters, each equally likely
   * @return the string, possibly empty
   */
  public String string(int maxLength, String alphabet) {
    StringBuilder text = new StringBuilder();
    for (long length = drawLong(0, maxLength); text.length() < length; ) {
      text.append(alphabet.charAt((int) uniform(0, alphabet.length() - 1L)));
    }
    return note(text.toString());
  }

  /**
   * Returns a string of any characters, among them control characters, digits of other scripts and
   * surrogates without their partner.
   *
   * @param maxLength the largest length in {@code char}s, inclusive
   * @return the string, possibly empty
   */
  public String string(int maxLength) {
    StringBuilder text = new StringBuilder();
    for (long length = drawLong(0, maxLength); text.length() < length; ) {
      int character =
          (int) drawLong(0, Character.MAX_CODE_POINT, ' ', '0', '9', 'a', 0xD800, 0xFFFF);
      int chars = text.length() + Character.charCount(character);
      text.appendCodePoint(chars <= length ? character : '0');
    }
    return note(text.toString());
  }

  int longestList() {
    return longestList;
  }

  /** Returns the values drawn so far, in order; a list counts as one value. */
  List<Object> values() {
    return values;
  }

  private <T> T note(T value) {
    values.add(value);
    return value;
  }

  private long drawLong(long min, long max, long... edges) {
    requireRange(min, max);
    if (uniform(0, 15) < edgesInSixteen) {
      return edge(min, max, edges);
    }
    long width = max - min;
    boolean isNarrow = width >= 0 && width < NARROW;
    return isNarrow || nextBits() < 0 ? uniform(min, max) : nearZero(min, max);
  }

  private long edge(long min, long max, long... edges) {
    long[] candidates = {min, max, 0, 1, -1, min + 1, max - 1};
    int choice = (int) uniform(0, candidates.length + edges.length - 1L);
    long chosen =
        choice < candidates.length ? candidates[choice] : edges[choice - candidates.length];
    boolean isOutside = chosen < min || chosen > max;
    return isOutside ? (nextBits() < 0 ? min : max) : chosen;
  }

  /** A number whose distance from 0, or from the end closest to it, has any number of bits. */
  private long nearZero(long min, long max) {
    long origin = Math.max(min, Math.min(0, max));
    long distance = nextBits() >>> uniform(1, 63);
    long chosen =
        origin == max || (origin > min && nextBits() < 0) ? origin - distance : origin + distance;
    return chosen < min || chosen > max ? uniform(min, max) : chosen;
  }

  private long uniform(long min, long max) {
    requireRange(min, max);
    long numbers = max - min + 1;
    return numbers == 0 ? nextBits() : min + Long.remainderUnsigned(nextBits(), numbers);
  }

  private static void requireRange(long min, long max) {
    if (min > max) {
      throw new IllegalArgumentException("no number is at least " + min + " and at most " + max);
    }
  }

  private long nextBits() {
    state += GAMMA;
    return mix(state);
  }

  private static long mix(long bits) {
    long mixed = (bits ^ (bits >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94D0_49BB_1331_11EBL;
    return mixed ^ (mixed >>> 31);
  }
}
