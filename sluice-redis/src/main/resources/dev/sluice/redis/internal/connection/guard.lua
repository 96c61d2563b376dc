
-- Every call ends with two arguments more: its deadline in the time of this server, and the absences. A call that
-- comes later, because it stood in a buffer, does nothing: its sender has given up, and may grant by itself by now.
local absences = table.remove(ARGV)
local deadline = table.remove(ARGV) + 0
if now > deadline then
  return redis.error_reply(string.format('EXPIRED %.0f microseconds ago', now - deadline))
end

-- The absences are "time:share time:share …" in ascending order: from each time on, so many parts of every limit
-- belonged to members that were not heard, and that may have granted them by themselves. '' if there were none.
local PARTS = 720720
local NOT_YET = 2 ^ 53
local periods

local function absencePeriods()
  if not periods then
    periods = {}
    for from, share in string.gmatch(absences, '(%d+):(%d+)') do
      periods[#periods + 1] = { from = from + 0, share = share / PARTS }
    end
  end
  return periods
end

-- Since when no member has been absent; NOT_YET if one is.
local function presentSince()
  if absences == '' then
    return 0
  end
  local from, share = string.match(absences, '(%d+):(%d+)$')
  return share == '0' and from + 0 or NOT_YET
end

-- Whole steps from 1970 to `at`: where tokens come back in periods, these lie on that grid.
local function steps(at, step)
  if step == 1 then
    return at
  end
  return (at - math.fmod(at, step)) / step
end

-- How many whole parts cover an amount.
local function atLeast(amount, part)
  local rest = math.fmod(amount, part)
  return (amount - rest) / part + (rest > 0 and 1 or 0)
end

-- Returns the debt that is left of `debt` units at `to` if it was so at `from`: time pays it back, down to `floor`.
--
-- A part of the limit that belongs to absent members is not paid here: they grant it by themselves. They begin
-- empty and may have saved up as much as their part has brought since, at most their part of the capacity; the bucket
-- here holds that much less. So what the bucket and the members hold together never exceeds the capacity and grows by
-- the rate alone, and no window has more than capacity + rate * length. Tokens that they saved and did not use are lost.
-- Units are rounded against the caller.
--
-- Returns also, if a member was absent since `from`: the least by which the debt was above what the members had saved,
-- and what they have saved at `to`. A charge before `from` must not be taken back by more than the first: of a debt
-- that is there because the members saved, nothing is the charge's. Debts must not be lowered below the second.
local function repay(limit, debt, floor, from, to)
  local accrual, step, capacity = limit.accrual, limit.step, limit.capacity
  local function credit(starts, ends)
    return math.max(0, steps(ends, step) - steps(starts, step)) * accrual
  end
  if accrual == 0 then
    return debt
  end
  if from >= presentSince() then
    return to > from and math.max(math.min(debt, floor), debt - credit(from, to)) or debt
  end
  local list = absencePeriods()
  if from < list[1].from then
    debt = math.max(math.min(debt, floor), debt - credit(from, math.min(to, list[1].from)))
  end
  local saved, least = 0, debt
  for i, period in ipairs(list) do
    local starts, share = period.from, period.share
    local ends = math.min(to, list[i + 1] and list[i + 1].from or to)
    if share == 0 then
      saved = 0
    elseif ends > starts then
      saved = math.min(math.ceil(capacity * share), saved + math.ceil(credit(starts, ends) * share)) + 1
    end
    if ends > from and ends > starts then
      local paid = credit(math.max(starts, from), ends)
      if share > 0 then
        paid = math.max(0, math.floor(paid * (1 - share)) - 1)
      end
      debt = math.max(math.min(debt, floor), debt - paid, share > 0 and floor + saved or 0)
      least = math.min(least, debt - saved)
    end
  end
  return debt, least, saved
end

-- Returns the debt of a bucket whose key is gone, and then as `repay`. The key lived as long as time needed to fill the bucket, if no
-- member was absent; so the bucket has at least what an empty one of that age has.
local function debtOfMissing(limit)
  if limit.accrual == 0 or absences == '' then
    return 0
  end
  local full = atLeast(limit.capacity, limit.accrual) * limit.step
  if now - full >= presentSince() then
    return 0
  end
  return repay(limit, limit.capacity, 0, now - full, now)
end
