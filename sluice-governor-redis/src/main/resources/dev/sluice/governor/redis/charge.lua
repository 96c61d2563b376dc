-- Charges what a node has granted by itself while Redis was away, once.
-- ARGV: node, number of this charge, microseconds of a pause in which the others can charge theirs too,
-- tokens granted less those given back; how many tenants, then for each its name and its tokens; then
-- for each grant that is not settled: id, tokens, tokens asked for, rank, class, tenant.
-- Answers {tokens that were charged}: no meter is left below empty by this.
if not open(server, { 'f' .. ARGV[1] }) then
  return { 0 }
end
local fence = 'f' .. ARGV[1]
if tonumber(get(fence) or 0) >= tonumber(ARGV[2]) then
  return answer({ 0 })
end
put(fence, ARGV[2])

local function chargeUpToEmpty(meter, tokens)
  local most = math.max(0, available(meter))
  local part = math.min(tokens, most)
  if part > 0 then
    charge(meter, part)
  end
  return part
end

S.paused = math.max(S.paused, now + tonumber(ARGV[3]))
local charged = chargeUpToEmpty(M, tonumber(ARGV[4]))
local at = 6
for _ = 1, tonumber(ARGV[5]) do
  local meter = meterOf(ARGV[at])
  if meter then
    chargeUpToEmpty(meter, tonumber(ARGV[at + 1]))
  end
  at = at + 2
end
while ARGV[at] do
  local id = ARGV[at]
  S.running = S.running + 1
  put('r' .. id, packReservation({
    tokens = tonumber(ARGV[at + 1]), asked = tonumber(ARGV[at + 2]), rank = tonumber(ARGV[at + 3]),
    class = ARGV[at + 4], tenant = ARGV[at + 5], at = now, event = S.events, mine = -1, guaranteed = 0,
    theirs = 0, ticket = 0
  }))
  setDue('r' .. id, now + C.life)
  at = at + 6
end
S.consumed = S.consumed + tonumber(ARGV[4])
S.left = available(M)
drain(granted)
return answer({ charged })
