-- What every script begins with: how a bucket is read, paid back by time, and written.
--
-- A bucket is one string, "debt at version params leases":
--   debt     units that are missing from full; a token is worth `unit` of them
--   at       the time of that, in microseconds of this server
--   version  of the fleet's rules under which it was written
--   params   "capacity:unit:mint:step": time brings `mint` units every `step` microseconds
--   leases   " id:tokens:ends" for each block out on lease, " !id:number:ends" for each fence
-- No key is a full bucket.
--
-- Every number is a whole one below 2^53, which doubles hold exactly, and is written by %.0f alone:
-- tostring and `..` keep 14 digits. Arguments of a bucket are params and its four numbers.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Whole steps from 1970 to `at`: where tokens come back in periods, these lie on that grid.
local function steps(at, step)
  if step == 1 then
    return at
  end
  return (at - math.fmod(at, step)) / step
end

local function atLeast(amount, part)
  local rest = math.fmod(amount, part)
  return (amount - rest) / part + (rest > 0 and 1 or 0)
end

-- Time pays the debt back, down to what is out on lease. A clock that went back pays nothing.
local function pay(bucket, at)
  local passed = steps(now, bucket.step) - steps(at, bucket.step)
  if passed <= 0 or bucket.mint == 0 then
    return
  end
  local floor = bucket.leased * bucket.unit
  if passed >= (bucket.debt - floor) / bucket.mint then
    bucket.debt = math.min(bucket.debt, floor)
  else
    bucket.debt = bucket.debt - passed * bucket.mint
  end
end

-- Level in units of another limit, never more tokens than before.
local function scaled(level, from, to)
  if from == to then
    return level
  end
  local rest = math.fmod(level, from)
  local part = rest * to
  if part < 9007199254740992 then
    part = (part - math.fmod(part, from)) / from
  else
    part = math.max(0, math.floor(rest / from * to) - 2)
  end
  return (level - rest) / from * to + part
end

-- Goes over from the limit under which it was written to that of the caller: the tokens stay.
local function change(bucket, from)
  local level = from.capacity - from.debt
  if level >= 0 then
    level = math.min(bucket.capacity, scaled(level, from.unit, bucket.unit))
  else
    level = -scaled(-level, from.unit, bucket.unit) - 1
  end
  bucket.debt = math.max(bucket.capacity - level, bucket.leased * bucket.unit)
end

-- What is out on lease and has not ended; what has ended counts as used.
local function leases(bucket, text)
  local left = {}
  for entry, mark, tokens, ends in string.gmatch(text, '( (!?)[^ :]+:(%d+):(%d+))') do
    if tonumber(ends) > now then
      left[#left + 1] = entry
      if mark == '' then
        bucket.leased = bucket.leased + tokens
        bucket.blocks = bucket.blocks + 1
        bucket.first = math.min(bucket.first, tonumber(ends))
      end
      bucket.last = math.max(bucket.last, tonumber(ends))
    end
  end
  bucket.leases = table.concat(left)
end

local function numbers(params)
  local capacity, unit, mint, step = string.match(params, '^(%d+):(%d+):(%d+):(%d+)$')
  return tonumber(capacity), tonumber(unit), tonumber(mint), tonumber(step)
end

-- The bucket at `key` now, under the limit whose arguments begin at `a`, or under the one it was
-- written with if that is newer; `newer` is its version then.
local function read(key, version, a)
  local bucket = {
    key = key, version = version, params = ARGV[a],
    capacity = tonumber(ARGV[a + 1]), unit = tonumber(ARGV[a + 2]),
    mint = tonumber(ARGV[a + 3]), step = tonumber(ARGV[a + 4]),
    debt = 0, at = now, leased = 0, blocks = 0, first = math.huge, last = 0, leases = '', newer = 0
  }
  local stored = redis.call('GET', key)
  if not stored then
    return bucket
  end
  local debt, at, written, params, rest = string.match(stored, '^(%d+) (%d+) (%d+) (%S+)(.*)$')
  bucket.at = tonumber(at)
  if rest ~= '' then
    leases(bucket, rest)
  end
  if params == bucket.params then
    bucket.debt = tonumber(debt)
    pay(bucket, bucket.at)
    return bucket
  end
  local from = {debt = tonumber(debt), leased = bucket.leased}
  from.capacity, from.unit, from.mint, from.step = numbers(params)
  pay(from, bucket.at)
  if tonumber(written) > version then
    bucket.capacity, bucket.unit, bucket.mint, bucket.step =
      from.capacity, from.unit, from.mint, from.step
    bucket.params, bucket.debt = params, from.debt
    bucket.version, bucket.newer = tonumber(written), tonumber(written)
  else
    change(bucket, from)
  end
  return bucket
end

-- Microseconds until `units` more are there, as far as time brings them.
local function wait(bucket, units)
  local needed = atLeast(units, bucket.mint)
  local micros = needed
  if bucket.step ~= 1 then
    micros = (steps(now, bucket.step) + needed) * bucket.step - now
  end
  if bucket.leased > 0 and bucket.debt - units < bucket.leased * bucket.unit then
    micros = math.max(micros, bucket.first - now)
  end
  return micros
end

-- A bucket that time fills may vanish when it is full: then it says nothing.
local function write(bucket)
  local value = string.format('%.0f %.0f %.0f %s%s',
    bucket.debt, now, bucket.version, bucket.params, bucket.leases)
  if bucket.mint == 0 then
    redis.call('SET', bucket.key, value)
    return
  end
  local micros = atLeast(bucket.debt, bucket.mint) * bucket.step
  if bucket.last > now then
    micros = micros + bucket.last - now
  end
  redis.call('SET', bucket.key, value, 'PX', string.format('%.0f', math.floor(micros / 1000) + 1))
end

local function whole(bucket)
  local level = math.max(0, bucket.capacity - bucket.debt)
  return (level - math.fmod(level, bucket.unit)) / bucket.unit
end
