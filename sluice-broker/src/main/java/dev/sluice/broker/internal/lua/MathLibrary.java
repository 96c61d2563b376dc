package dev.sluice.broker.internal.lua;

import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Varargs;

/** The table {@code math}; the seed of {@code randomseed} lasts for one call of the hook. */
final class MathLibrary {
  /** Beyond it a double has no fractions left to choose between. */
  private static final double MAX_INTEGER = 1L << 53;

  private @Nullable RandomGenerator seeded;

  void begin() {
    seeded = null;
  }

  LuaTable table() {
    ReadOnlyTable table = new ReadOnlyTable();
    table.set("huge", Double.POSITIVE_INFINITY);
    table.set("pi", Math.PI);
    addUnary(table, "abs", Math::abs);
    addUnary(table, "acos", Math::acos);
    addUnary(table, "asin", Math::asin);
    addUnary(table, "atan", Math::atan);
    addUnary(table, "ceil", Math::ceil);
    addUnary(table, "cos", Math::cos);
    addUnary(table, "deg", Math::toDegrees);
    addUnary(table, "exp", Math::exp);
    addUnary(table, "floor", Math::floor);
    addUnary(table, "rad", Math::toRadians);
    addUnary(table, "sin", Math::sin);
    addUnary(table, "sqrt", Math::sqrt);
    addUnary(table, "tan", Math::tan);
    addBinary(table, "atan2", Math::atan2);
    addBinary(table, "fmod", (x, y) -> x % y);
    addBinary(table, "pow", Math::pow);
    LibraryFunction.add(table, "log", MathLibrary::log);
    LibraryFunction.add(table, "max", args -> fold(args, Math::max));
    LibraryFunction.add(table, "min", args -> fold(args, Math::min));
    LibraryFunction.add(table, "modf", MathLibrary::modf);
    LibraryFunction.add(table, "random", this::random);
    LibraryFunction.add(table, "randomseed", this::randomseed);
    return table.freeze();
  }

  private static void addUnary(LuaTable table, String name, DoubleUnaryOperator operator) {
    LibraryFunction.add(
        table,
        name,
        args -> LuaValue.valueOf(operator.applyAsDouble(LuaArguments.number(args, 1))));
  }

  private static void addBinary(LuaTable table, String name, DoubleBinaryOperator operator) {
    LibraryFunction.add(
        table,
        name,
        args ->
            LuaValue.valueOf(
                operator.applyAsDouble(
                    LuaArguments.number(args, 1), LuaArguments.number(args, 2))));
  }

  private static Varargs fold(Varargs args, DoubleBinaryOperator operator) {
    double folded = LuaArguments.number(args, 1);
    for (int i = 2; i <= args.narg(); i++) {
      folded = operator.applyAsDouble(folded, LuaArguments.number(args, i));
    }
    return LuaValue.valueOf(folded);
  }

  private static Varargs log(Varargs args) {
    double x = Math.log(LuaArguments.number(args, 1));
    return LuaValue.valueOf(args.isnil(2) ? x : x / Math.log(LuaArguments.number(args, 2)));
  }

  private static Varargs modf(Varargs args) {
    double x = LuaArguments.number(args, 1);
    double whole = x > 0 ? Math.floor(x) : Math.ceil(x);
    double rest = Double.isInfinite(x) ? 0 : x - whole;
    return LuaValue.varargsOf(LuaValue.valueOf(whole), LuaValue.valueOf(rest));
  }

  private Varargs random(Varargs args) {
    RandomGenerator random = seeded != null ? seeded : ThreadLocalRandom.current();
    if (args.narg() == 0) {
      return LuaValue.valueOf(random.nextDouble());
    }
    double low = args.narg() == 1 ? 1 : LuaArguments.number(args, 1);
    double high = LuaArguments.number(args, args.narg() == 1 ? 1 : 2);
    if (!(low <= high) || low < -MAX_INTEGER || high > MAX_INTEGER) {
      throw LuaArguments.bad(args.narg() == 1 ? 1 : 2, "interval is empty");
    }
    return LuaValue.valueOf((double) random.nextLong((long) low, (long) high + 1));
  }

  private Varargs randomseed(Varargs args) {
    seeded = new SplittableRandom(Double.doubleToLongBits(LuaArguments.number(args, 1)));
    return LuaValue.NONE;
  }
}
