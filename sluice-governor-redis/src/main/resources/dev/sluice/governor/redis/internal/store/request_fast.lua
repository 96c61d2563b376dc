-- The common case of request.lua, in a third of its time: there are no waiters, no due expirations, no budgets of
-- tenants, no minimum shares and no idempotency key, no member was absent, and the tokens are available. request.lua
-- handles all other cases, and explains the steps. Runs if the node expects the common case (ARGV[10]), and answers in
-- short: the time, the tokens left, and the refill.
if ARGV[10] == 'fast' then
  local thisSecond = math.floor(server / 10 ^ 6)
  local stored = redis.call('HMGET', KEYS[1], 'q', 's', 'h', 'n' .. ARGV[5], countField(thisSecond))
  if stored[1] and stored[2] and stored[4] then
    local accrual, conc, life, special, secondCap, secondUnit, secondAccrual, minuteCap, minuteUnit, minuteAccrual,
      burst, rate = struct.unpack('>dddddddddddd', stored[1])
    local at, shift, debt, unit, cap, factor, paused, running, waiting, due, numbers, events, total,
      accepted, consumed, refills, left, refilled, wake, turns, grace, emptied, second, minute, generation =
      struct.unpack('>ddddddddddddddddddddddddd', stored[2])
    local index, ceiling = struct.unpack('>dd', stored[4])
    local now, tokens = server, tonumber(ARGV[6])
    local room = math.min(cap, math.max(1, math.floor(ceiling * factor)))
    local elapsed = now - at
    if special == 0 and generation == tonumber(string.sub(ARGV[1], 17)) and waiting == 0 and shift == 0
      and elapsed >= 0 and at >= PRESENT and now < due and paused <= now and running < slotsOf(conc)
      and tokens <= room then
      debt = elapsed < debt / accrual and math.max(0, debt - elapsed * accrual) or 0
      second = elapsed < second / secondAccrual and math.max(0, second - elapsed * secondAccrual) or 0
      minute = elapsed < minute / minuteAccrual and math.max(0, minute - elapsed * minuteAccrual) or 0
      if tokens * unit <= room * unit - debt and secondUnit <= secondCap * secondUnit - second
        and minuteUnit <= minuteCap * minuteUnit - minute then
        local available = cap * unit - debt
        available = (available - math.fmod(available, unit)) / unit
        local found, level = 0, 0
        if available > left then
          refills, refilled, found, level = refills + 1, now, available - left, available
        end
        local history = stored[3] or ''
        local size = #history
        while size > 0 and struct.unpack('>d', history, size - 7) >= debt do
          size = size - 16
        end
        if size < 2048 then
          history = string.sub(history, 1, size) .. struct.pack('>dd', events, debt)
          local ends = now + life
          local counted = tokens
          if stored[5] then
            local when, before, burstThen, rateThen = struct.unpack('>dddd', stored[5])
            if when == thisSecond then
              counted, burst, rate = before + tokens, math.max(burst, burstThen), math.max(rate, rateThen)
            end
          end
          redis.call('HSET', KEYS[1],
            's', struct.pack('>ddddddddddddddddddddddddd', now, shift, debt + tokens * unit, unit, cap,
              factor, paused, running + 1, waiting, math.min(due, ends), numbers, events + 1, total + 1,
              accepted + 1, consumed + tokens, refills, available - tokens, refilled, wake, turns, grace,
              emptied, second + secondUnit, minute + minuteUnit, generation) .. string.sub(stored[2], 201),
            'h', history,
            countField(thisSecond), struct.pack('>dddd', thisSecond, counted, burst, rate),
            'r' .. ARGV[2], struct.pack('>dddddddddI2', tokens, ARGV[7], index, now, events + 1, -1, 0, 0, 0,
              #ARGV[5]) .. ARGV[5] .. ARGV[4])
          redis.call('ZADD', KEYS[2], ends, 'r' .. ARGV[2])
          return { now, available - tokens, found, level }
        end
      end
    end
  end
end

