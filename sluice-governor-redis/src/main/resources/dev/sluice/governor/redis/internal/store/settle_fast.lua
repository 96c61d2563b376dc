-- The common case of settle.lua, in a third of its time: there are no waiters, no due expirations, no budgets of
-- tenants and no minimum shares; the reservation has no ticket, its usage is not larger, and the settling node
-- delivered its grant. settle.lua handles all other cases, and explains the steps. Answers in short: the time, the
-- refill, and the result of settle.lua.
if ARGV[2] == 'settle' and not ARGV[5] then
  local id = 'r' .. ARGV[3]
  local stored = redis.call('HMGET', KEYS[1], 'q', 's', 'h', id)
  if stored[1] and stored[2] and stored[4] then
    local accrual, conc, life, special, secondCap, secondUnit, secondAccrual, minuteCap, minuteUnit, minuteAccrual =
      struct.unpack('>dddddddddd', stored[1])
    local at, shift, debt, unit, cap, factor, paused, running, waiting, due, numbers, events, total,
      accepted, consumed, refills, left, refilled, wake, turns, grace, emptied, second, minute, generation =
      struct.unpack('>ddddddddddddddddddddddddd', stored[2])
    local tokens, asked, index, granted, event, tenantEvent, fromMinimumShare, minimumShareEvent, ticket, length =
      struct.unpack('>dddddddddI2', stored[4])
    local now, unused = server, tokens - ARGV[4]
    local elapsed = now - at
    if special == 0 and generation == tonumber(string.sub(ARGV[1], 17)) and waiting == 0 and shift == 0
      and elapsed >= 0 and at >= PRESENT and now < due and unused >= 0 and ticket == 0 and event >= 0 then
      debt = elapsed < debt / accrual and math.max(0, debt - elapsed * accrual) or 0
      second = elapsed < second / secondAccrual and math.max(0, second - elapsed * secondAccrual) or 0
      minute = elapsed < minute / minuteAccrual and math.max(0, minute - elapsed * minuteAccrual) or 0
      local available = cap * unit - debt
      available = (available - math.fmod(available, unit)) / unit
      local found, level = 0, 0
      if available > left then
        refills, refilled, found, level = refills + 1, now, available - left, available
      end
      local history = stored[3] or ''
      local low, high = 0, #history / 16
      while low < high do
        local middle = math.floor((low + high) / 2)
        if struct.unpack('>d', history, middle * 16 + 1) < event then
          low = middle + 1
        else
          high = middle
        end
      end
      local first, still = low * 16 + 1, debt
      if first <= #history then
        local least = struct.unpack('>d', history, first + 8)
        still = math.min(still, least)
      end
      local back = math.min(unused * unit, still)
      back = (back - math.fmod(back, unit)) / unit
      local less = back * unit
      if less > 0 and first <= #history then
        local later = {}
        for from = first, #history, 16 do
          local each, was = struct.unpack('>dd', history, from)
          later[#later + 1] = struct.pack('>dd', each, was - less)
        end
        local least = struct.unpack('>d', later[1], 9)
        local size = first - 1
        while size > 0 and struct.unpack('>d', history, size - 7) >= least do
          size = size - 16
        end
        history = string.sub(history, 1, size) .. table.concat(later)
      end
      if back > 0 then
        local second = math.floor(granted / 10 ^ 6)
        local field = countField(second)
        local count = redis.call('HGET', KEYS[1], field)
        local when, before = struct.unpack('>dd', count or struct.pack('>dd', 0, 0))
        if when == second and before >= back then
          redis.call('HSET', KEYS[1], field, struct.pack('>dd', when, before - back) .. string.sub(count, 17))
        end
      end
      redis.call('HSET', KEYS[1],
        's', struct.pack('>ddddddddddddddddddddddddd', now, shift, debt - less, unit, cap, factor, paused,
          running - 1, waiting, due, numbers, events, total, accepted, consumed - back, refills,
          available + back, refilled, wake, turns, grace, emptied, second, minute, generation)
          .. string.sub(stored[2], 201),
        'h', history)
      redis.call('HDEL', KEYS[1], id)
      redis.call('ZREM', KEYS[2], id)
      return {
        now, found, level,
        tokens, asked, string.sub(stored[4], 75 + length), back, granted, string.sub(stored[4], 75, 74 + length)
      }
    end
  end
end

