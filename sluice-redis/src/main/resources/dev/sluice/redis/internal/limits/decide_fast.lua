-- The common case of decide.lua, in half its time: one key that was written under the same limit,
-- with nothing out on lease and no member absent since, and that has the tokens. Everything else is left to decide.lua, and so
-- is the explanation of what is done here.
if ARGV[1] == 'take' and #KEYS == 1 then
  local stored = redis.call('GET', KEYS[1])
  local params = ARGV[4]
  if stored and string.sub(stored, 57) == params then
    local debt, at, version, capacity, unit, accrual, step = struct.unpack('>ddddddd', stored)
    local passed, cost = now - at, ARGV[3] * unit
    if step == 1 and accrual > 0 and passed >= 0 and cost > 0 and at >= presentSince() then
      debt = passed < debt / accrual and debt - passed * accrual or 0
      if cost <= capacity - debt then
        debt = debt + cost
        local level = capacity - debt
        redis.call('SET', KEYS[1],
          struct.pack('>ddddddd', debt, now, math.max(version, ARGV[2]), capacity, unit, accrual, step)
            .. params,
          'PX', math.floor(debt / accrual / 1000) + 2)
        return {1, (level - math.fmod(level, unit)) / unit, 0, now, 0}
      end
    end
  end
end

