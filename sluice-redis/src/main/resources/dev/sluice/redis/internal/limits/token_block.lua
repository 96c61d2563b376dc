-- Closes a block, and lends another one or takes tokens.
-- ARGV: id of the block to close or '', tokens of it that were not used, tokens asked for, tokens
-- wanted as a block or 0, units that blocks leave alone, microseconds that a block lasts, id of the
-- new block, version, params.
-- Answers {4, tokens of the block, 0} if one was lent, of which the asked ones are the caller's;
-- else as decide.lua does: {1, remaining, 0}, {0, 1, micros}, {2, 1, missing} or {3, 1, 0}; each
-- with the time and the version of newer rules.
--
-- Invariant: debt >= leased * unit, so level + leased <= capacity. The fleet can still be
-- granted the level here and the unused tokens of the blocks, which are at most `leased`. That sum never
-- exceeds the capacity, and time alone adds to it, by the rate: lending and closing move tokens
-- between the two. So no window has more than capacity + rate * length.
local LENT = 4
local MAX_BLOCKS = 64
local MIN_BLOCK = 2
local asked, wanted, reserve = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local bucket = read(KEYS[1], tonumber(ARGV[8]), 9)

-- A block that has ended, or was closed before, is not listed: closing it again changes nothing.
local function close(closing, unused)
  local left = {}
  local tokens
  for entry, id, count in string.gmatch(bucket.leases, '( ([^ :]+):(%d+):%d+)') do
    if id == closing then
      tokens = tonumber(count)
    else
      left[#left + 1] = entry
    end
  end
  if not tokens then
    return false
  end
  bucket.leased, bucket.blocks, bucket.first, bucket.last = 0, 0, 2 ^ 53, 0
  leases(bucket, table.concat(left))
  bucket.debt = math.max(bucket.leased * bucket.unit,
    bucket.debt - math.min(unused, tokens) * bucket.unit)
  return true
end

-- How many tokens a block may have now. Under newer rules the caller's figures mean nothing. While a member is absent
-- none is lent: what it saves up and the blocks together could be more than the capacity.
local function lendable()
  local free = bucket.capacity - bucket.debt - reserve
  if wanted == 0 or free <= 0 or bucket.newer > 0 or bucket.blocks >= MAX_BLOCKS or presentSince() == NOT_YET then
    return 0
  end
  local tokens = math.min(wanted, (free - math.fmod(free, bucket.unit)) / bucket.unit)
  return tokens >= math.max(2 * asked, MIN_BLOCK) and tokens or 0
end

local function lend(tokens)
  local ends = now + ARGV[6]
  bucket.debt = bucket.debt + tokens * bucket.unit
  bucket.leases = bucket.leases .. string.format(' %s:%.0f:%.0f', ARGV[7], tokens, ends)
  bucket.last = math.max(bucket.last, ends)
end

local changed = bucket.at > now or bucket.changed
if ARGV[1] ~= '' then
  changed = close(ARGV[1], tonumber(ARGV[2])) or changed
end
local tokens = lendable()
if tokens > 0 then
  lend(tokens)
  write(bucket)
  return {LENT, tokens, 0, now, bucket.newer}
end
local outcome, figure = judge(bucket, asked)
if outcome == GRANTED and asked > 0 then
  bucket.debt = bucket.debt + asked * bucket.unit
  changed = true
end
if changed then
  write(bucket)
end
if outcome == GRANTED then
  return {GRANTED, whole(bucket), 0, now, bucket.newer}
end
return {outcome, 1, figure, now, bucket.newer}
