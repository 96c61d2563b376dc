-- Charges what a node granted in an outage, once: a repeated charge of one number changes nothing.
-- ARGV: node, number, tokens, version, params.
-- Answers {1 or 0 if it was charged before, 0, 0, time, version of newer rules}.
local FENCE_MICROS = 60000000
local bucket = read(KEYS[1], tonumber(ARGV[4]), 5)
local left = {}
local known = 0
for entry, id, number in string.gmatch(bucket.leases, '( ([^ :]+):(%d+):%d+)') do
  if id == '!' .. ARGV[1] then
    known = tonumber(number)
  else
    left[#left + 1] = entry
  end
end
if known >= tonumber(ARGV[2]) then
  return {0, 0, 0, now, bucket.newer}
end
left[#left + 1] = string.format(' !%s:%s:%.0f', ARGV[1], ARGV[2], now + FENCE_MICROS)
bucket.leases = table.concat(left)
-- Nobody owes more than all there is, if all nodes were away; else the limit was exceeded by their
-- share, as it may be, and those who were not away do not pay for it.
-- Blocks out on lease are owed besides.
bucket.debt = math.max(bucket.debt,
  math.min(bucket.debt + ARGV[3] * bucket.unit, bucket.capacity + bucket.leased * bucket.unit))
write(bucket)
return {1, 0, 0, now, bucket.newer}
