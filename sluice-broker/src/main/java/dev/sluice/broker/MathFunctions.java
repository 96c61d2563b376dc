package dev.sluice.broker;

import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.luaj.vm2.LuaTable;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Varargs;

/** The table {@code math}; what {@code randomseed} sets lasts for one call of the hook. */
final class MathFunctions {
  /** Beyond it a double has no fractions left to choose between. */
  private static final double MAX_INTEGER = 1L << 53;

  private @Nullable RandomGenerator seeded;

  void begin() {
    seeded = null;
  }

  LuaTable table() {
    FrozenTable table = new FrozenTable();
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
    ScriptFunction.add(table, "log", MathFunctions::log);
    ScriptFunction.add(table, "max", args -> fold(args, Math::max));
    ScriptFunction.add(table, "min", args -> fold(args, Math::min));
    ScriptFunction.add(table, "modf", MathFunctions::modf);
    ScriptFunction.add(table, "random", this::random);
    ScriptFunction.add(table, "randomseed", this::randomseed);
    return table.freeze();
  }

  private static void addUnary(LuaTable table, String name, DoubleUnaryOperator operator) {
    ScriptFunction.add(
        table, name, args -> LuaValue.valueOf(operator.applyAsDouble(Arguments.number(args, 1))));
  }

  private static void addBinary(LuaTable table, String name, DoubleBinaryOperator operator) {
    ScriptFunction.add(
        table,
        name,
        args ->
            LuaValue.valueOf(
                operator.applyAsDouble(Arguments.number(args, 1), Arguments.number(args, 2))));
  }

  private static Varargs fold(Varargs args, DoubleBinaryOperator operator) {
    double folded = Arguments.number(args, 1);
    for (int i = 2; i <= args.narg(); i++) {
      folded = operator.applyAsDouble(folded, Arguments.number(args, i));
    }
    return LuaValue.valueOf(folded);
  }

  private static Varargs log(Varargs args) {
    double x = Math.log(Arguments.number(args, 1));
    return LuaValue.valueOf(args.isnil(2) ? x : x / Math.log(Arguments.number(args, 2)));
  }

  private static Varargs modf(Varargs args) {
    double x = Arguments.number(args, 1);
    double whole = x > 0 ? Math.floor(x) : Math.ceil(x);
    double rest = Double.isInfinite(x) ? 0 : x - whole;
    return LuaValue.varargsOf(LuaValue.valueOf(whole), LuaValue.valueOf(rest));
  }

  private Varargs random(Varargs args) {
    RandomGenerator random = seeded != null ? seeded : ThreadLocalRandom.current();
    if (args.narg() == 0) {
      return LuaValue.valueOf(random.nextDouble());
    }
    double low = args.narg() == 1 ? 1 : Arguments.number(args, 1);
    double high = Arguments.number(args, args.narg() == 1 ? 1 : 2);
    if (!(low <= high) || low < -MAX_INTEGER || high > MAX_INTEGER) {
      throw Arguments.bad(args.narg() == 1 ? 1 : 2, "interval is empty");
    }
    return LuaValue.valueOf((double) random.nextLong((long) low, (long) high + 1));
  }

  private Varargs randomseed(Varargs args) {
    seeded = new SplittableRandom(Double.doubleToLongBits(Arguments.number(args, 1)));
    return LuaValue.NONE;
  }
}
