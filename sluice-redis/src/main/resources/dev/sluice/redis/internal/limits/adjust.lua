-- Looks at a bucket, adds tokens, fills it, or has it go over to another limit now.
-- ARGV: "look", "give", "fill" or "move", version, tokens, params.
-- By "move", in place of tokens: params of the limit before, under which no key was a full bucket;
-- empty if it was none at all.
-- Answers {level in units, unit, microseconds to full or -1, time, version of newer rules}.
local bucket = read(KEYS[1], tonumber(ARGV[2]), 4)
local before = bucket.debt
if ARGV[1] == 'give' then
  bucket.debt = math.max(math.min(before, least(bucket)), before - ARGV[3] * bucket.unit)
elseif ARGV[1] == 'fill' then
  bucket.debt = least(bucket)
end
if ARGV[1] == 'move' and bucket.fresh and ARGV[3] ~= '' then
  limit(bucket, ARGV[3])
  change(bucket, ARGV[4])
end
if bucket.debt ~= before or (ARGV[1] == 'move' and not bucket.fresh) then
  write(bucket)
end
local full = -1
if bucket.debt == 0 then
  full = 0
elseif bucket.accrual > 0 then
  full = wait(bucket, bucket.debt)
end
return {math.max(0, bucket.capacity - bucket.debt), bucket.unit, full, now, bucket.newer}
