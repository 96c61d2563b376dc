package dev.sluice.broker.internal.lua;

import dev.sluice.broker.internal.hooks.HookLimits;
import java.util.function.LongSupplier;
import org.luaj.vm2.Lua;
import org.luaj.vm2.LuaClosure;
import org.luaj.vm2.LuaNumber;
import org.luaj.vm2.LuaString;
import org.luaj.vm2.LuaValue;
import org.luaj.vm2.Prototype;
import org.luaj.vm2.Varargs;
import org.luaj.vm2.lib.DebugLib;

/**
 * Counts what a running script uses, stops it at its limits, and knows the line it is at.
 *
 * <p>The interpreter calls this before every instruction, the library functions before every step
 * that could take long or build something. Used by one thread at a time.
 */
public final class ResourceGuard extends DebugLib {
  /** Instructions between two looks at clock and memory. */
  private static final int CHECK_EVERY = 64;

  /** So many instructions never take longer; a longer time is a pause of the process. */
  private static final long MAX_SLICE_NANOS = 1_000_000;

  /** Small strings are announced together: a look at memory costs more than they do. */
  private static final int CHECK_BYTES = 4096;

  /** The assumed allocation of a step where the JVM does not measure it. */
  private static final int UNMETERED_STEP_BYTES = 8;

  private static final int NUMBER_BYTES = 32;
  private static final int TABLE_BYTES = 64;
  private static final int SLOT_BYTES = 8;
  private static final int OPCODE = 0x3f;
  private static final int OPERAND = 0x1ff;

  private final HookLimits limits;
  private final LongSupplier clock;
  private final LongSupplier allocated;

  private final Prototype[] functions = new Prototype[HookLimits.MAX_DEPTH + 1];
  private final LuaValue[][] stacks = new LuaValue[HookLimits.MAX_DEPTH + 1][];
  private final int[] positions = new int[HookLimits.MAX_DEPTH + 1];
  private int depth;
  private int builtins;
  private int[] code;
  private int position;

  private int left;
  private int checkAt;
  private long startBytes;
  private long announcedBytes;
  private long unmeteredBytes;
  private long sliceStart;
  private long ranNanos;

  /**
   * @param allocated bytes that the current thread ever allocated, or less than 0 if unknown
   */
  public ResourceGuard(HookLimits limits, LongSupplier clock, LongSupplier allocated) {
    this.limits = limits;
    this.clock = clock;
    this.allocated = allocated;
    Prototype none = new Prototype(0);
    none.code = new int[0];
    functions[0] = none;
    stacks[0] = LuaValue.NOVALS;
    code = none.code;
  }

  /** Starts a call, with every budget full. */
  public void begin() {
    while (depth > 0) {
      onReturn();
    }
    builtins = 0;
    left = limits.instructions();
    checkAt = Math.max(left - CHECK_EVERY, -1);
    announcedBytes = 0;
    unmeteredBytes = 0;
    ranNanos = 0;
    sliceStart = clock.getAsLong();
    startBytes = allocated.getAsLong();
  }

  /** Instructions and steps since the call began. */
  public int spent() {
    return limits.instructions() - left;
  }

  /** Time since the call began, of which a pause of the process counts little. */
  long ranNanos() {
    return ranNanos + Math.min(clock.getAsLong() - sliceStart, MAX_SLICE_NANOS);
  }

  /** Bytes allocated since the call began. */
  public long usedBytes() {
    if (startBytes < 0) {
      return unmeteredBytes + (long) spent() * UNMETERED_STEP_BYTES;
    }
    return allocated.getAsLong() - startBytes;
  }

  /** Charges work that took no instruction. */
  void spend(long steps) {
    left = (int) Math.max(left - steps, -1);
    if (left <= checkAt) {
      check();
    }
  }

  /** Announces that so many bytes will be allocated. */
  void reserve(long bytes) {
    announcedBytes += bytes;
    if (announcedBytes > CHECK_BYTES) {
      checkMemory();
    }
  }

  /** Announces a string. */
  void reserveString(long bytes) {
    if (bytes > HookLimits.MAX_STRING_BYTES) {
      throw overrun("built a string of more than " + HookLimits.MAX_STRING_BYTES + " bytes");
    }
    reserve(bytes);
  }

  /** Announces arguments or results. */
  void reserveValues(long count) {
    if (count > HookLimits.MAX_VALUES) {
      throw overrun("passed more than " + HookLimits.MAX_VALUES + " values");
    }
    reserve(count * SLOT_BYTES);
  }

  /** A library function is about to call the script; the result goes to {@link #leaveTo}. */
  int enter() {
    if (builtins == HookLimits.MAX_DEPTH) {
      throw tooDeep();
    }
    return builtins++;
  }

  /** After a call, or an error that was caught, which may have skipped others. */
  void leaveTo(int entered) {
    builtins = entered;
  }

  /** Where the script is: {@code name:line: }; level 1 is the function that runs. */
  String where(int level) {
    int frame = depth + 1 - level;
    if (level < 1 || frame < 1) {
      return "";
    }
    Prototype function = functions[frame];
    int at = frame == depth ? position : positions[frame];
    return function.source.tojstring() + ":" + function.lineinfo[at] + ": ";
  }

  @Override
  public void onCall(LuaClosure function, Varargs varargs, LuaValue[] stack) {
    if (depth == HookLimits.MAX_DEPTH) {
      throw tooDeep();
    }
    reserveValues(varargs.narg());
    positions[depth++] = position;
    functions[depth] = function.p;
    stacks[depth] = stack;
    code = function.p.code;
    position = 0;
  }

  @Override
  public void onReturn() {
    stacks[depth] = LuaValue.NOVALS;
    position = positions[--depth];
    code = functions[depth].code;
  }

  @Override
  public void onInstruction(int pc, Varargs values, int top) {
    position = pc;
    if (--left <= checkAt) {
      check();
    }
    int instruction = code[pc];
    switch (instruction & OPCODE) {
      case Lua.OP_CONCAT -> checkConcat(instruction);
      case Lua.OP_NEWTABLE ->
          reserve(
              TABLE_BYTES + (long) SLOT_BYTES * (operandB(instruction) + operandC(instruction)));
      default -> {}
    }
  }

  /** LuaJ appends this to the message of every error. */
  @Override
  public String traceback(int level) {
    return "";
  }

  /** The interpreter joins all operands in one go, so their sizes are summed before. */
  private void checkConcat(int instruction) {
    LuaValue[] stack = stacks[depth];
    long bytes = 0;
    for (int i = operandB(instruction); i <= operandC(instruction); i++) {
      LuaValue operand = stack[i];
      if (operand instanceof LuaString text) {
        bytes += text.m_length;
      } else if (operand instanceof LuaNumber number) {
        // Operands are copies, made for this instruction.
        stack[i] = number.isinttype() ? number : LuaStrings.of(number);
        bytes += NUMBER_BYTES;
      } else {
        throw new ScriptError("attempt to concatenate a " + operand.typename() + " value");
      }
    }
    reserveString(bytes);
  }

  private static int operandB(int instruction) {
    return instruction >>> 23;
  }

  private static int operandC(int instruction) {
    return (instruction >> 14) & OPERAND;
  }

  private void check() {
    if (left < 0) {
      throw overrun("used more than " + limits.instructions() + " instructions");
    }
    checkMemory();
    long now = clock.getAsLong();
    ranNanos += Math.min(now - sliceStart, MAX_SLICE_NANOS);
    sliceStart = now;
    if (ranNanos > limits.timeNanos()) {
      throw overrun("ran for more than " + limits.timeNanos() + " ns");
    }
    checkAt = Math.max(left - CHECK_EVERY, -1);
  }

  private void checkMemory() {
    if (usedBytes() + announcedBytes > limits.memoryBytes()) {
      throw overrun("allocated more than " + limits.memoryBytes() + " bytes");
    }
    unmeteredBytes += announcedBytes;
    announcedBytes = 0;
  }

  private ScriptBudgetExceededError tooDeep() {
    return overrun("nested more than " + HookLimits.MAX_DEPTH + " calls");
  }

  private ScriptBudgetExceededError overrun(String what) {
    return new ScriptBudgetExceededError(where(1) + what);
  }
}
