-- How a bucket is read, paid back by time, and written.
--
-- A bucket is one string: seven doubles, then its params and leases as text.
--   debt     units that are missing from full; a token is worth `unit` of them
--   at       the time of that, in microseconds of this server
--   version  of the fleet's rules under which it was written
--   capacity, unit, accrual, step: it holds `capacity`, and `accrual` accrues every `step` microseconds
--   params   these four again as the caller writes them, "capacity:unit:accrual:step"
--   leases   " id:tokens:ends" for each block out on lease, and " !keep:0:ends" if the key must not vanish before
-- No key is a full bucket, unless members were absent while it would have filled (guard.lua).
--
-- Every number is a whole one below 2^53, which doubles hold exactly. Where one becomes text it is
-- by %.0f: tostring and `..` keep 14 digits.
local LAYOUT, TEXT_AT = '>ddddddd', 57

-- No block is lent for longer: one that seems to be was lent before the clock went back.
local LONGEST_LEASE_MICROS = 61000000

-- For how long a limit that time does not refill is remembered after it was changed.
local FOREVER_MICROS = 86400000000

-- For how long any other is at least: requests that were made under the limit before still come.
local CHANGED_MICROS = 10000000

-- Time pays the debt back, down to what is out on lease. A clock that went back pays nothing.
local function payUntil(bucket, to, leased)
  bucket.debt = repay(bucket, bucket.debt, leased * bucket.unit, bucket.paid, to)
  bucket.paid = math.max(bucket.paid, to)
end

-- Blocks that have ended since were out until then: what time could not bring meanwhile is lost.
local function pay(bucket)
  bucket.paid = bucket.at
  if bucket.ended then
    local out = bucket.leased
    for _, block in ipairs(bucket.ended) do
      out = out + block.tokens
    end
    for _, block in ipairs(bucket.ended) do
      payUntil(bucket, block.ends, out)
      out = out - block.tokens
    end
  end
  payUntil(bucket, now, bucket.leased)
end

local function limit(bucket, params)
  local capacity, unit, accrual, step = string.match(params, '^(%d+):(%d+):(%d+):(%d+)$')
  bucket.capacity, bucket.unit, bucket.accrual, bucket.step = capacity + 0, unit + 0, accrual + 0, step + 0
end

-- The debt that is always left: what is out on lease, and what absent members can have saved (guard.lua).
local function least(bucket)
  local leased = bucket.leased * bucket.unit
  local _, _, saved = repay(bucket, 0, 0, now, now)
  return leased + (saved or 0)
end

-- When the bucket is full, if nobody takes anything.
local function fullAt(bucket)
  return bucket.accrual == 0 and now + FOREVER_MICROS
    or now + atLeast(bucket.debt, bucket.accrual) * bucket.step
end

-- Has the key live until `ends` at least.
local function keep(bucket, ends)
  bucket.leases = string.gsub(bucket.leases, ' !keep:0:%d+', '')
    .. string.format(' !keep:0:%.0f', ends)
  bucket.last = math.max(bucket.last, ends)
end

-- Goes over to the limit of the caller: the tokens stay, and are never more than before. As long as
-- the limit before would not have been full the key stays too: others may still come with it.
local function change(bucket, params)
  local before = math.max(fullAt(bucket), bucket.last, now + CHANGED_MICROS)
  local function scaled(level, from, to)
    local rest = math.fmod(level, from)
    local part = rest * to
    if part < 2 ^ 53 then
      part = (part - math.fmod(part, from)) / from
    else
      part = math.max(0, math.floor(rest / from * to) - 2)
    end
    return (level - rest) / from * to + part
  end
  local unit, level = bucket.unit, bucket.capacity - bucket.debt
  limit(bucket, params)
  if level >= 0 then
    level = math.min(bucket.capacity, scaled(level, unit, bucket.unit))
  else
    level = -scaled(-level, unit, bucket.unit) - 1
  end
  bucket.debt = math.max(bucket.capacity - level, least(bucket))
  if before > fullAt(bucket) or bucket.accrual == 0 then
    keep(bucket, before)
  end
end

-- What is out on lease and has not ended; what has ended counts as used.
local function leases(bucket, text)
  local left = {}
  local ended
  for entry, mark, tokens, ends in string.gmatch(text, '( (!?)[^ :]+:(%d+):(%d+))') do
    if tonumber(ends) > now and (mark ~= '' or ends - now <= LONGEST_LEASE_MICROS) then
      left[#left + 1] = entry
      if mark == '' then
        bucket.leased = bucket.leased + tokens
        bucket.blocks = bucket.blocks + 1
        bucket.first = math.min(bucket.first, tonumber(ends))
      end
      bucket.last = math.max(bucket.last, tonumber(ends))
    elseif mark == '' then
      ended = ended or {}
      ended[#ended + 1] = {tokens = tonumber(tokens), ends = math.min(tonumber(ends), now)}
    end
  end
  if ended then
    table.sort(ended, function(one, other) return one.ends < other.ends end)
  end
  bucket.leases, bucket.ended = table.concat(left), ended
end

-- The bucket at `key` now, under the limit whose params are argument `a`, or under the one it was
-- written with if that is newer; `newer` is its version then.
local function read(key, version, a)
  local params = ARGV[a]
  local bucket = {
    key = key, version = version, params = params, capacity = 0, unit = 0, accrual = 0, step = 0,
    debt = 0, at = now, leased = 0, blocks = 0, first = 2 ^ 53, last = 0, leases = '', newer = 0
  }
  local stored = redis.call('GET', key)
  if stored then
    if #stored < TEXT_AT then
      error('not a bucket of Sluice: ' .. key)
    end
    local debt, at, written, capacity, unit, accrual, step = struct.unpack(LAYOUT, stored)
    local text = string.sub(stored, TEXT_AT)
    bucket.debt, bucket.at = debt, at
    bucket.capacity, bucket.unit, bucket.accrual, bucket.step = capacity, unit, accrual, step
    if text ~= params then
      local known, rest = string.match(text, '^(%d+:%d+:%d+:%d+)(.*)$')
      if not known then
        error('not a bucket of Sluice: ' .. key)
      end
      leases(bucket, rest)
      if known ~= params and written > version then
        bucket.params, bucket.version, bucket.newer = known, written, written
      elseif known ~= params then
        pay(bucket)
        change(bucket, params)
        bucket.changed = true
        return bucket
      end
    end
    pay(bucket)
  else
    bucket.fresh = true
    limit(bucket, params)
    bucket.debt = debtOfMissing(bucket)
  end
  return bucket
end

-- Microseconds until `units` more are there, as far as time brings them.
local function wait(bucket, units)
  local needed = atLeast(units, bucket.accrual)
  local micros = needed
  if bucket.step ~= 1 then
    micros = (steps(now, bucket.step) + needed) * bucket.step - now
  end
  if bucket.leased > 0 and bucket.debt - units < bucket.leased * bucket.unit then
    micros = math.max(micros, bucket.first - now)
  end
  return micros
end

-- A bucket may vanish when it is full: then it says nothing.
local function write(bucket)
  local accrual, step, debt = bucket.accrual, bucket.step, bucket.debt
  local value = struct.pack(
    LAYOUT, debt, now, bucket.version, bucket.capacity, bucket.unit, accrual, step)
    .. bucket.params .. bucket.leases
  if accrual == 0 then
    if debt == 0 and bucket.leases == '' then
      redis.call('DEL', bucket.key)
    else
      redis.call('SET', bucket.key, value)
    end
    return
  end
  local micros = atLeast(debt, accrual) * step
  if bucket.last > now then
    micros = micros + bucket.last - now
  end
  redis.call('SET', bucket.key, value, 'PX', string.format('%.0f', math.floor(micros / 1000) + 1))
end

local function whole(bucket)
  local level = math.max(0, bucket.capacity - bucket.debt)
  return (level - math.fmod(level, bucket.unit)) / bucket.unit
end

local DENIED, GRANTED, DEPLETED, IMPOSSIBLE = 0, 1, 2, 3

-- Whether the bucket has so many tokens; if not, the microseconds until it has, or how many are
-- missing.
local function judge(bucket, tokens)
  local cost = tokens * bucket.unit
  local short = cost - (bucket.capacity - bucket.debt)
  if cost > bucket.capacity then
    return IMPOSSIBLE, 0
  elseif cost == 0 or short <= 0 then
    return GRANTED, 0
  elseif bucket.accrual == 0 then
    return DEPLETED, tokens - whole(bucket)
  end
  return DENIED, wait(bucket, short)
end

