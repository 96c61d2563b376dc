-- Returns the status of a model, its waiting list, the owner of a ticket or reservation, or a predicted decision.
-- ARGV: node, "status"; or node, "waitingList", offset, limit; or node, "owner", id; or node, "explain", tenant,
-- class, tokens to reserve.
-- owner answers {tenant, class}, or {} if there is no such ticket or reservation;
-- status answers {available, running, total, accepted, consumed, refills, microseconds since the last refill, capacity,
-- tokens that accrue in a minute, the dimension of a shortage or '', tokens or requests that the first waiter needs,
-- microseconds since the shortage began, the excess of the fleet in the worst window, each class and its size …};
-- explain {'g', 'q' or 'r', binding, figure, wait, position, eta, {dimension, capacity, available, needed, wait}, …};
-- waitingList {size, {class, eta, binding, …}, {id, tenant, class, asked, position, eta, binding, waited}, …}. Waits
-- and etas are negative if unknown.
local query = ARGV[2]
local fields = {}
if query == 'explain' then
  fields = { 'm' .. ARGV[3], 'b' .. ARGV[3] }
elseif query == 'status' then
  fields = { 'w' }
elseif query == 'owner' then
  fields = { 'r' .. ARGV[3], 't' .. ARGV[3] }
end
if not open(server, fields) then
  return { 0 }
end

local MINUTE = 60 * 10 ^ 6
-- Governors poll the status more often than this. Reports, which come later, check more seconds.
local STATUS_SECONDS = 128

local function status()
  local head = shortageOf()
  local result = {
    available(modelBucket), S.running, S.total, S.accepted, S.consumed, S.refills, now - S.refilled, C.cap,
    C.mint * (MINUTE / C.unit), head and head.by or '', head and head.needed or 0, head and now - head.since or 0,
    worstExcess(STATUS_SECONDS)
  }
  for index = 0, #C.classes - 1 do
    result[#result + 1] = C.classes[index + 1].name
    result[#result + 1] = classState[index].size
  end
  return result
end

-- Negative if it is larger than the capacity.
local function microsIfEver(bucket, tokens)
  return tokens > bucket.cap and -1 or microsUntil(bucket, tokens, 0)
end

local function microsForShare(ticket, floor)
  local minimumShare = classState[ticket.rank].minimumShare
  local sooner = minimumShare and microsIfEver(minimumShare, ticket.tokens) or -1
  local micros = microsFor(ticket.tokens, floor)
  return sooner >= 0 and math.min(micros, sooner) or micros
end

local function parts(ticket, result)
  local tokens, floor = ticket.tokens, floorOf(ticket.rank)
  local level = available(modelBucket)
  result[#result + 1] = { 'TOKENS', modelBucket.cap, level, tokens, tokens > C.cap and -1 or microsFor(tokens, 0) }
  if floor > 0 then
    local ever = tokens <= C.classes[ticket.rank + 1].ceiling
    result[#result + 1] =
      { 'CLASS', modelBucket.cap - floor, level - floor, tokens, ever and microsForShare(ticket, floor) or -1 }
  end
  local bucket = tenantBucketOf(ticket.tenant)
  if bucket then
    result[#result + 1] = { 'TENANT', bucket.cap, available(bucket), tokens, microsIfEver(bucket, tokens) }
  end
  for _, each in ipairs(requests) do
    result[#result + 1] = { 'REQUESTS', each.cap, available(each), 1, microsIfEver(each, 1) }
  end
  local slots = slotsOf(C.conc)
  local free = slots - S.running
  if C.conc > 0 or free <= 0 then
    result[#result + 1] = { 'CONCURRENCY', slots, free, 1, free > 0 and 0 or -1 }
  end
  if isPaused() then
    result[#result + 1] = { 'PROVIDER', 1, 0, 1, S.paused - now }
  end
  return result
end

local function explain()
  local index = classIndexOf(ARGV[4])
  if not index then
    return unknownClass()
  end
  local ticket = { rank = index, tenant = ARGV[3], tokens = tonumber(ARGV[5]) }
  drain(granted)
  local most = largest(index, ticket.tenant)
  if ticket.tokens > most then
    return parts(ticket, { 'r', 'CLASS', most, -1, 0, -1 })
  end
  if not wouldHold(ticket) then
    return parts(ticket, { 'g', 'NONE', 0, 0, 0, 0 })
  end
  if isFullFor(ticket.tenant) then
    return parts(ticket, { 'r', 'LINE', C.maxLine, -1, 0, -1 })
  end
  local score = index * BAND + startOf(index, ticket.tenant)
  local position, eta, by, wait = placeOf(ticket, redis.call('ZCOUNT', WAITING, '-inf', score))
  return parts(ticket, { 'q', by, 0, wait, position, eta })
end

-- Returns the eta of the last waiter of a class and its binding dimension; `ahead` waiters are in this class and above.
local function lastOf(index, ahead)
  if classState[index].size == 0 then
    return 0, 'NONE'
  end
  local last = ticketOf(idIn(redis.call('ZRANGE', WAITING, ahead - 1, ahead - 1)[1]))
  local _, eta, by = placeOf(last, ahead - 1)
  return eta, by
end

local function waitingList()
  drain(granted)
  local etas, ahead = {}, 0
  for index = 0, #C.classes - 1 do
    ahead = ahead + classState[index].size
    local eta, by = lastOf(index, ahead)
    etas[#etas + 1] = C.classes[index + 1].name
    etas[#etas + 1] = eta
    etas[#etas + 1] = by
  end
  local result = { S.waiting, etas }
  local offset = tonumber(ARGV[3])
  for i, member in ipairs(redis.call('ZRANGE', WAITING, offset, offset + tonumber(ARGV[4]) - 1)) do
    local ticket = ticketOf(idIn(member))
    local position, eta, by = placeOf(ticket, offset + i - 1)
    result[#result + 1] =
      { ticket.id, ticket.tenant, ticket.class, ticket.asked, position, eta, by, now - ticket.since }
  end
  return result
end

local function owner()
  local stored = get('r' .. ARGV[3])
  local found = stored and unpackReservation(stored) or ticketOf(ARGV[3])
  return found and { found.tenant, found.class } or {}
end

local answers = { status = status, waitingList = waitingList, explain = explain, owner = owner }
return answer(answers[query]())
