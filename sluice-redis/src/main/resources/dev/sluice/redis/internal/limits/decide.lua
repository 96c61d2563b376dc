-- Takes tokens of every key or of none.
-- ARGV: "take" or "look", version, then for each key: tokens and params.
-- Answers {1, remaining, 0}, {0, key, micros}, {2, key, missing} or {3, key, 0}, each with the time
-- and the version of newer rules, if some were met. `remaining` is the smallest of all keys.
local take = ARGV[1] == 'take'
local version = ARGV[2] + 0
local buckets = {}
local newer, binding, outcome, figure = 0, 0, GRANTED, 0

for i, key in ipairs(KEYS) do
  local tokens = ARGV[2 * i + 1] + 0
  local bucket = read(key, version, 2 * i + 2)
  local own, amount = judge(bucket, tokens)
  bucket.cost = tokens * bucket.unit
  buckets[i] = bucket
  newer = math.max(newer, bucket.newer)
  -- What never comes binds before what time does not bring, and that before the longest wait.
  if own ~= GRANTED and (outcome == GRANTED or own > outcome or (own == outcome and amount > figure))
  then
    if own == DENIED or outcome ~= own then
      binding, outcome, figure = i, own, amount
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
  local remaining = buckets[1] and whole(buckets[1]) or 0
  for _, bucket in ipairs(buckets) do
    remaining = math.min(remaining, whole(bucket))
  end
  return {GRANTED, remaining, 0, now, newer}
end
return {outcome, binding, figure, now, newer}
