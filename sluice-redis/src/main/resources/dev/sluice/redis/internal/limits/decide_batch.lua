-- Decides several requests about one bucket, one after the other.
-- ARGV: version, params, then the tokens of each.
-- Answers {time, version of newer rules, then for each: outcome, figure}, the figure being what
-- remains or what judge says.
local bucket = read(KEYS[1], ARGV[1] + 0, 2)
local answer = {now, bucket.newer}
local changed = bucket.at > now or bucket.changed
for i = 3, #ARGV do
  local tokens = ARGV[i] + 0
  local outcome, figure = judge(bucket, tokens)
  if outcome == GRANTED then
    bucket.debt = bucket.debt + tokens * bucket.unit
    figure = whole(bucket)
    changed = true
  end
  answer[#answer + 1] = outcome
  answer[#answer + 1] = figure
end
if changed then
  write(bucket)
end
return answer
