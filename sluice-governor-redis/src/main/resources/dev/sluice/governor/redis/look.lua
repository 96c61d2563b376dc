-- How a model stands, who is in line, whose a ticket or reservation is, or what would become of a request.
-- ARGV: node, "status"; or node, "line", offset, limit; or node, "owner", id; or node, "explain", tenant,
-- class, tokens to reserve.
-- owner answers {tenant, class}, or {} if there is no such ticket or reservation;
-- status answers {available, running, total, accepted, consumed, refills, microseconds since the last
-- refill, capacity, tokens that accrue in a minute, each class and its size …}; explain {'g', 'q' or 'r', binding,
-- figure, wait, position, eta, {dimension, capacity, available, needed, wait}, …}; line {size, {class,
-- eta, …}, {id, tenant, class, asked, position, eta, waited}, …}.
local what = ARGV[2]
local fields = {}
if what == 'explain' then
  fields = { 'm' .. ARGV[3], 'b' .. ARGV[3] }
elseif what == 'owner' then
  fields = { 'r' .. ARGV[3], 't' .. ARGV[3] }
end
if not open(server, fields) then
  return { 0 }
end

local MINUTE = 60 * 10 ^ 6

local function status()
  local result = {
    available(M), S.running, S.total, S.accepted, S.consumed, S.refills, now - S.refilled, C.cap,
    C.mint * (MINUTE / C.unit)
  }
  for rank = 0, #C.classes - 1 do
    result[#result + 1] = C.classes[rank + 1].name
    result[#result + 1] = R[rank].size
  end
  return result
end

local function parts(ticket, result)
  local tokens, floor = ticket.tokens, floorOf(ticket.rank)
  local there = available(M)
  result[#result + 1] = { 'TOKENS', M.cap, there, tokens, microsFor(tokens, 0) }
  if floor > 0 then
    result[#result + 1] = { 'CLASS', M.cap - floor, there - floor, tokens, microsFor(tokens, floor) }
  end
  local meter = meterOf(ticket.tenant)
  if meter then
    result[#result + 1] =
      { 'TENANT', meter.cap, available(meter), tokens, microsUntil(meter, tokens, 0) }
  end
  for _, each in ipairs(requests) do
    result[#result + 1] = { 'REQUESTS', each.cap, available(each), 1, microsUntil(each, 1, 0) }
  end
  if C.conc > 0 then
    local free = C.conc - S.running
    result[#result + 1] = { 'CONCURRENCY', C.conc, free, 1, free > 0 and 0 or -1 }
  end
  if isPaused() then
    result[#result + 1] = { 'PROVIDER', 1, 0, 1, S.paused - now }
  end
  return result
end

local function explain()
  local rank = rankOf(ARGV[4])
  if not rank then
    return noSuchClass()
  end
  local ticket = { rank = rank, tenant = ARGV[3], tokens = tonumber(ARGV[5]) }
  drain(granted)
  local most = largest(rank, ticket.tenant)
  if ticket.tokens > most then
    return parts(ticket, { 'r', 'CLASS', most, 0, 0, 0 })
  end
  if not wouldHold(ticket) then
    return parts(ticket, { 'g', 'NONE', 0, 0, 0, 0 })
  end
  if isFullFor(ticket.tenant) then
    return parts(ticket, { 'r', 'LINE', C.maxLine, 0, 0, 0 })
  end
  local by, micros = alone(ticket)
  local score = rank * BAND + startOf(rank, ticket.tenant)
  local position, eta = placeOf(ticket, redis.call('ZCOUNT', LINE, '-inf', score))
  return parts(ticket, { 'q', by or 'LINE', 0, math.max(0, micros or 0), position, eta })
end

-- Until the last of a class has had its turn; `ahead` are those of it and of the classes above.
local function etaOf(rank, ahead)
  if R[rank].size == 0 then
    return 0
  end
  local _, eta = placeOf({ rank = rank, tenant = '', tokens = 0 }, ahead)
  return eta
end

local function line()
  drain(granted)
  local etas, ahead = {}, 0
  for rank = 0, #C.classes - 1 do
    ahead = ahead + R[rank].size
    etas[#etas + 1] = C.classes[rank + 1].name
    etas[#etas + 1] = etaOf(rank, ahead)
  end
  local result = { S.waiting, etas }
  local offset = tonumber(ARGV[3])
  for i, member in ipairs(redis.call('ZRANGE', LINE, offset, offset + tonumber(ARGV[4]) - 1)) do
    local ticket = ticketOf(idIn(member))
    local position, eta = placeOf(ticket, offset + i - 1)
    result[#result + 1] =
      { ticket.id, ticket.tenant, ticket.class, ticket.asked, position, eta, now - ticket.since }
  end
  return result
end

local function owner()
  local stored = get('r' .. ARGV[3])
  local found = stored and unpackReservation(stored) or ticketOf(ARGV[3])
  return found and { found.tenant, found.class } or {}
end

local answers = { status = status, line = line, explain = explain, owner = owner }
return answer(answers[what]())
