-- Charges what a node has granted by itself while Redis was away, once.
-- ARGV: node, number of this charge, microseconds of a pause in which the others can charge theirs too,
-- tokens granted less those given back, requests granted, tokens of open grants that can still be given
-- back; how many classes, then for each its name and its tokens; how many tenants, then for each its name
-- and its tokens; then for each grant that is not settled: id, tokens, tokens asked for, class, tenant,
-- idempotency key or ''.
-- Answers {tokens that were charged}: no meter is left below empty by this.
local fence = 'f' .. NODE
if not open(server, { fence }) then
  return { 0 }
end
if tonumber(get(fence) or 0) >= tonumber(ARGV[2]) then
  return answer({ 0 })
end
put(fence, ARGV[2])
setDue(fence, now + FENCE_LIFE)

local at = 4
local function word()
  at = at + 1
  return ARGV[at - 1]
end

local function number()
  return tonumber(word())
end

local function chargeUpToEmpty(meter, tokens)
  local part = math.min(tokens, math.max(0, available(meter)))
  if part > 0 then
    charge(meter, part)
  end
  return part
end

local function chargeRequests(count)
  for _, each in ipairs(requests) do
    local most = math.max(each.owed, each.cap * each.unit)
    each.owed = math.min(most, each.owed + count * each.unit)
  end
end

local ranks = {}
for rank, class in ipairs(C.classes) do
  ranks[class.name] = rank - 1
end

countRefill()
S.paused = math.max(S.paused, now + tonumber(ARGV[3]))
local tokens = number()
local charged = chargeUpToEmpty(M, tokens)
chargeRequests(number())
local refundable = number()
for _ = 1, number() do
  local rank = R[ranks[word()] or -1]
  local part = number()
  if rank and rank.meter then
    chargeUpToEmpty(rank.meter, part)
  end
end
for _ = 1, number() do
  local meter = meterOf(word())
  local part = number()
  if meter then
    chargeUpToEmpty(meter, part)
  end
end

-- What is still owed for open grants may be less than what was charged for them just now: time has paid
-- for some of it since they were granted.
local event = S.events
local function limitRefunds()
  local owed = M.owed
  M.owed = math.min(owed, refundable * M.unit)
  record(M)
  M.owed = owed
end

local unlimited = 0
while ARGV[at] do
  local grant = {
    id = word(), tokens = number(), asked = number(), class = word(), tenant = word(), key = word()
  }
  unlimited = unlimited + grant.tokens
  hold(grant, event)
end
if refundable < unlimited then
  limitRefunds()
end

S.consumed = S.consumed + tokens
S.left = available(M)
drain(granted)
return answer({ charged })
