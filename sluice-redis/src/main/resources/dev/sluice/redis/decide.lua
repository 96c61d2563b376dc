-- Takes tokens of every key or of none.
-- ARGV: "take" or "look", version, then for each key: tokens and params.
-- Answers {1, remaining, 0}, {0, key, micros}, {2, key, missing} or {3, key, 0}, each with the time
-- and the version of newer rules, if some were met. `remaining` is that of the first key.
local GRANTED, DENIED, DEPLETED, IMPOSSIBLE = 1, 0, 2, 3
local take = ARGV[1] == 'take'
local version = ARGV[2] + 0
local buckets = {}
local newer, binding, outcome, figure = 0, 0, GRANTED, 0

for i, key in ipairs(KEYS) do
  local a = 2 * i + 1
  local bucket = read(key, version, a + 1)
  local cost = ARGV[a] * bucket.unit
  local short = cost - (bucket.capacity - bucket.debt)
  bucket.cost = cost
  buckets[i] = bucket
  newer = math.max(newer, bucket.newer)
  if cost > bucket.capacity then
    if outcome ~= IMPOSSIBLE then
      binding, outcome, figure = i, IMPOSSIBLE, 0
    end
  elseif cost > 0 and short > 0 then
    if bucket.mint == 0 then
      if outcome ~= IMPOSSIBLE and outcome ~= DEPLETED then
        binding, outcome, figure = i, DEPLETED, ARGV[a] - whole(bucket)
      end
    elseif outcome == GRANTED or outcome == DENIED then
      local micros = wait(bucket, short)
      if outcome == GRANTED or micros > figure then
        binding, outcome, figure = i, DENIED, micros
      end
    end
  end
end

for _, bucket in ipairs(buckets) do
  if outcome == GRANTED then
    bucket.debt = bucket.debt + bucket.cost
  end
  if take and outcome == GRANTED and bucket.cost > 0 then
    write(bucket)
  elseif take and (bucket.at > now or bucket.changed) then
    -- Without this, time would stand still until a clock that went back is there again, and go on
    -- at the rate of the limit before.
    write(bucket)
  end
end

if outcome == GRANTED then
  return {GRANTED, buckets[1] and whole(buckets[1]) or 0, 0, now, newer}
end
return {outcome, binding, figure, now, newer}
