/**
 * The sandbox in which hooks run: Lua with bounded time and memory.
 *
 * <p>The only package that uses LuaJ; uses {@code hooks} and {@code util}.
 */
@NullMarked
package dev.sluice.broker.internal.lua;

import org.jspecify.annotations.NullMarked;
