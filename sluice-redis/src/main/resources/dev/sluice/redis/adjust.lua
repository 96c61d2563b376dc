-- Looks at a bucket, adds tokens or fills it.
-- ARGV: "look", "give" or "fill", version, tokens, params.
-- Answers {level in units, unit, microseconds to full or -1, time, version of newer rules}.
local bucket = read(KEYS[1], tonumber(ARGV[2]), 4)
local leased = bucket.leased * bucket.unit
local before = bucket.debt
if ARGV[1] == 'give' then
  bucket.debt = math.max(math.min(before, leased), before - ARGV[3] * bucket.unit)
elseif ARGV[1] == 'fill' then
  bucket.debt = leased
end
if bucket.debt ~= before then
  write(bucket)
end
local full = -1
if bucket.debt == 0 then
  full = 0
elseif bucket.mint > 0 then
  full = wait(bucket, bucket.debt)
end
return {math.max(0, bucket.capacity - bucket.debt), bucket.unit, full, now, bucket.newer}
