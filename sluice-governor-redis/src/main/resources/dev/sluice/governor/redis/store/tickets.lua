-- Tickets: places in line, and then what came of them. A ticket that was granted is claimed by whoever
-- learns of it; one that nobody claims is given back. Only who claims it may be told of a grant: what
-- was told may be spent, and is not given back then.

-- Refused tickets that are remembered for late polls; beyond that the oldest is forgotten. TicketBook has the
-- same number.
local MAX_REFUSED = 10000

-- Ids that are over and that nodes may have held later; beyond that the oldest is forgotten. All are, once the last is as old as a
-- reservation lives: what was granted before does not live longer.
local MAX_ENDED = 10000

-- In place of the node that waits for a ticket.
local SEVERAL = '*'

-- What was decided in this call, for the node that asks; the others are told by a message.
local decisions, notices = {}, {}

local function writeTickets()
  for id, ticket in pairs(tickets) do
    if ticket and ticket.changed then
      ticket.changed = nil
      put('t' .. id, cmsgpack.pack(ticket))
    end
  end
end

-- With the length of the tenant's name, or one tenant's key could be that of another.
local function keyField(tenant, key)
  return 'i' .. #tenant .. ':' .. tenant .. key
end

local function forget(ticket)
  tickets[ticket.id] = false
  drop('t' .. ticket.id)
  dropDue('s' .. ticket.id)
  if ticket.state == 'r' then
    redis.call('ZREM', REFUSED, ticket.id)
  end
  if ticket.deadline > 0 then
    dropDue('d' .. ticket.id)
  end
  if ticket.key ~= '' then
    drop(keyField(ticket.tenant, ticket.key))
  end
end

-- Its holder is missed from now on, unless it has a grant: that ends with its reservation.
local function restartIdleTimer(ticket)
  if ticket.state == 'g' and ticket.claimed == 1 then
    dropDue('s' .. ticket.id)
  else
    setDue('s' .. ticket.id, now + C.patience)
  end
end

-- Remembers a refused ticket, so that a late poll learns the reason.
local function rememberRefused(ticket)
  redis.call('ZADD', REFUSED, now, ticket.id)
  if redis.call('ZCARD', REFUSED) > MAX_REFUSED then
    local id = redis.call('ZRANGE', REFUSED, 0, 0)[1]
    local oldest = ticketOf(id)
    if oldest then
      forget(oldest)
    else
      -- A node of a version before this key has forgotten it.
      redis.call('ZREM', REFUSED, id)
    end
  end
end

local function decide(ticket, state, reason)
  ticket.state, ticket.reason, ticket.left = state, reason, available(modelBucket)
  ticket.claimed = ticket.node == NODE and 1 or 0
  ticket.unheard = ticket.claimed == 1 and NODE or ''
  ticket.changed = true
  if ticket.deadline > 0 then
    dropDue('d' .. ticket.id)
  end
  if ticket.node ~= '' and ticket.node ~= NODE then
    notices[#notices + 1] = state == 'g' and ticket.id or ticket.id .. '=' .. reason
  end
  decisions[#decisions + 1] = {
    ticket.id, state, reason, ticket.tokens, ticket.asked, ticket.class, ticket.tenant,
    now - ticket.since, ticket.left, ticket.claimed, ticket.key
  }
  restartIdleTimer(ticket)
  if state == 'r' then
    rememberRefused(ticket)
  end
end

local function granted(ticket)
  decide(ticket, 'g', '')
end

local function deny(ticket, reason)
  if ticket.state == 'w' then
    leave(ticket)
    decide(ticket, 'r', reason)
  end
end

denyTooLarge = function(ticket)
  deny(ticket, 'EXCEEDS_CAPACITY')
end

-- Frees its slot; what becomes of its tokens is another matter.
local function closeReservation(id)
  S.running = S.running - 1
  drop('r' .. id)
  dropDue('r' .. id)
end

-- What was used of a grant, and how much came back; negative for what was charged on top.
local function settle(id, reservation, actual)
  countRefill()
  closeReservation(id)
  local bucket = reservation.tenantEvent >= 0 and tenantBucketOf(reservation.tenant)
  local unused = reservation.tokens - chargeable(reservation.tokens, actual)
  local back
  if unused < 0 then
    back = -overcharge(modelBucket, -unused)
    if bucket then
      overcharge(bucket, -back)
    end
  else
    if bucket then
      refund(bucket, unused, reservation.tenantEvent)
    end
    local class = classState[classIndexOf(reservation.class) or -1]
    if reservation.minimumShareEvent > 0 and class and class.minimumShare then
      refund(class.minimumShare, math.min(unused, reservation.fromMinimumShare), reservation.minimumShareEvent)
    end
    back = reservation.event < 0 and 0 or refund(modelBucket, unused, reservation.event)
  end
  S.consumed = S.consumed - back
  if back > 0 then
    countGranted(-back, reservation.at)
  end
  S.left = available(modelBucket)
  if S.waiting > 0 and budgetOf(reservation.tenant) then
    for index = 0, #C.classes - 1 do
      if classState[index].size > 0 then
        recall(index, reservation.tenant)
      end
    end
  end
  return back
end

-- Whether a node has had a reservation held. The same may be on its way once more, and must not come after the end.
local function isRestored(reservation)
  return reservation.event < 0
end

-- Remembers that an id is over which these books do not know, or which a node has had held.
local function recordEnded(id)
  redis.call('ZADD', ENDED, now, id)
  if redis.call('ZCARD', ENDED) > MAX_ENDED then
    redis.call('ZREM', ENDED, redis.call('ZRANGE', ENDED, 0, 0)[1])
  end
  setDue('o', now + C.life)
end

-- Whether another node may grant a ticket by itself, and report it as open: one that is absent, or that waits for it and
-- may be cut off by now.
local function mayBeGrantedElsewhere(ticket)
  return PRESENT == NOT_YET or (ticket.node ~= '' and ticket.node ~= NODE)
end

local function hasEnded(id)
  return redis.call('ZRANK', ENDED, id)
end

-- Gives a slot to a grant that these books have not made, or have ended. They have not charged it, and refund nothing.
-- `ofTicket` and `unclaimed` are told by nodes that granted it. Returns false if it is over.
local function restore(grant)
  if hasEnded(grant.id) then
    return false
  end
  local each = {
    at = now, event = -1, tenantEvent = -1, fromMinimumShare = 0, minimumShareEvent = 0, ticket = 0, rank = -1
  }
  each.tokens, each.asked, each.class, each.tenant = grant.tokens, grant.asked, grant.class, grant.tenant
  for index, class in ipairs(C.classes) do
    each.rank = class.name == grant.class and index - 1 or each.rank
  end
  local named = keyField(grant.tenant, grant.key)
  local keyed = grant.key ~= '' and (get(named) or grant.id) == grant.id
  if keyed then
    put(named, grant.id)
  end
  if keyed or grant.ofTicket then
    each.ticket = 1
    local ticket = {
      id = grant.id, state = 'g', rank = each.rank, tokens = grant.tokens, asked = grant.asked,
      class = grant.class, tenant = grant.tenant, since = now, deadline = 0, key = keyed and grant.key or '',
      node = '', claimed = grant.unclaimed and 0 or 1, unheard = '', reason = '', left = available(modelBucket),
      number = 0, tag = 0, weight = 1, changed = true
    }
    tickets[grant.id] = ticket
    restartIdleTimer(ticket)
  end
  S.running = S.running + (get('r' .. grant.id) and 0 or 1)
  put('r' .. grant.id, packReservation(each))
  setDue('r' .. grant.id, now + C.life)
  return true
end

-- Nodes that told somebody of it, and have it held if the books are lost, learn that it is over.
local function notifyEnded(id)
  notices[#notices + 1] = id .. '='
end

-- The same nodes learn that it lives as long again.
local function notifyExtended(id)
  notices[#notices + 1] = id .. '+'
end

-- Whether other nodes than the one that asks may have told somebody of it.
local function mayBeDeliveredElsewhere(ticket)
  return ticket.asker ~= NODE or (ticket.node ~= '' and ticket.node ~= NODE)
end

local function returnGrant(ticket)
  forget(ticket)
  local stored = ticket.state == 'g' and get('r' .. ticket.id)
  if stored then
    if ticket.claimed == 1 and mayBeDeliveredElsewhere(ticket) then
      notifyEnded(ticket.id)
    end
    settle(ticket.id, unpackReservation(stored), 0)
  end
end

local function queuedReply(ticket)
  local position, eta, by, wait = placeOf(ticket, redis.call('ZRANK', WAITING, memberOf(ticket)))
  return {
    'q', ticket.id, ticket.asked, ticket.class, available(modelBucket), wait, position, eta, by, ticket.deadline > 0
      and ticket.deadline - now or 0,
    ticket.tenant, ticket.key, ticket.tokens, now - ticket.since
  }
end

local function grantReply(ticket)
  return {
    'g', ticket.id, ticket.asked, ticket.class, ticket.left, ticket.tokens, ticket.tenant, ticket.key
  }
end

-- How it stands, to somebody who asks for it; claims what was granted. As long as only the node where
-- it began has asked for it, that node is its asker.
local function claim(ticket)
  if ticket.asker and ticket.asker ~= NODE then
    ticket.asker, ticket.changed = nil, true
  end
  if ticket.state ~= 'w' and (ticket.claimed == 0 or ticket.unheard ~= '') then
    ticket.claimed, ticket.unheard = 1, ''
    ticket.changed = true
  end
  if ticket.state == 'w' then
    restartIdleTimer(ticket)
    return queuedReply(ticket)
  end
  if ticket.state == 'g' then
    restartIdleTimer(ticket)
    return grantReply(ticket)
  end
  return { 'r', ticket.id, ticket.asked, ticket.class, ticket.left, ticket.reason, 0 }
end

-- ---- what is over

-- What is done at the end of each kind of thing that is due (model_state.lua). A table, because a script may have 200 local
-- names at most.
local expiryHandlers = {}

-- The life of a reservation.
function expiryHandlers.r(id)
  if now < S.grace then
    setDue('r' .. id, S.grace)
  elseif get('r' .. id) then
    closeReservation(id)
    local ticket = ticketOf(id)
    if ticket then
      forget(ticket)
    end
  end
end

-- The patience with a ticket.
function expiryHandlers.s(id)
  local ticket = ticketOf(id)
  if not ticket or (ticket.state == 'g' and ticket.claimed == 1) then
    return
  end
  if now < S.grace then
    setDue('s' .. id, S.grace)
  elseif ticket.state == 'w' then
    -- Who comes late learns why, for as long again.
    deny(ticket, 'ABANDONED')
  else
    returnGrant(ticket)
  end
end

-- The debt of a tenant.
function expiryHandlers.m(tenant)
  local bucket = tenantBucketOf(tenant)
  if bucket and bucket.debt > 0 then
    bucket.changed = true
  else
    tenantBuckets[tenant] = nil
    drop('m' .. tenant)
  end
end

-- A deadline.
function expiryHandlers.d(id)
  local ticket = ticketOf(id)
  if ticket then
    deny(ticket, 'DEADLINE')
  end
end

-- The time for which a tenant stepped aside.
function expiryHandlers.a(name)
  local index = tonumber(string.sub(name, 1, 2))
  if classState[index] and classState[index].size > 0 then
    recall(index, string.sub(name, 4))
  end
end

-- The memory of a report.
function expiryHandlers.f(node)
  drop('f' .. node)
end

-- The memory of ids that are over.
function expiryHandlers.o()
  redis.call('DEL', ENDED)
end

-- Until something was ended, `due` may be earlier than what is due, and never later.
local expiryChecked = false

local function expireDue()
  expiryChecked = true
  local expired = redis.call('ZRANGEBYSCORE', DUE, '-inf', now, 'LIMIT', 0, EXPIRED_AT_ONCE)
  S.due = NEVER
  for kind in string.gmatch('rdsamfo', '.') do
    for _, member in ipairs(expired) do
      -- What was seen to meanwhile is due later.
      if string.sub(member, 1, 1) == kind and not dueAt[member] then
        dueRemoved[#dueRemoved + 1] = member
        expiryHandlers[kind](string.sub(member, 2))
      end
    end
  end
  return #expired > 0
end

-- ---- the beginning and the end of every call

-- False if there are no books, or others than the node knows: it has to tell first what it knows.
local function open(server, fields, anyGeneration)
  fields[#fields + 1] = 'c'
  fields[#fields + 1] = 's'
  fields[#fields + 1] = 'h'
  fields[#fields + 1] = 'e'
  fields[#fields + 1] = countField(math.floor(server / 10 ^ 6))
  prefetch(fields)
  if not cache.s then
    return false
  end
  C = cmsgpack.unpack(cache.c)
  readState(cache.s)
  if not anyGeneration and S.generation ~= KNOWN_GENERATION then
    return false
  end
  setClock(server)
  if S.waiting > 0 and now - S.at > math.min(MAX_SILENCE, C.patience / 2) then
    -- Redis was away, and nobody could be heard, or nobody is there any more.
    S.grace = now + math.min(C.patience, GRACE)
  end
  loadBuckets()
  advance()
  local ended = now >= S.due and expireDue()
  if S.waiting > 0 and (ended or now >= S.wake) then
    drain(granted)
  end
  return true
end

-- Writes everything down, tells the others, and makes the answer.
local function answer(result)
  writeTurns()
  writeTickets()
  writeBuckets()
  writeDue()
  if expiryChecked then
    local first = redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')
    S.due = first[2] and tonumber(first[2]) or NEVER
  end
  writeState()
  writeFields()
  local wait = S.waiting > 0 and math.max(0, math.min(S.wake, S.due) - now) or -1
  -- Who is told also learns when to look: whoever asked now may be gone by then.
  local again = #decisions > 0 or (stopped and S.wake <= now)
  if #notices > 0 or (again and S.waiting > 0) then
    redis.call('PUBLISH', STATE .. ':news', string.format('%.0f ', wait) .. table.concat(notices, ' '))
  end
  return { now, wait, S.waiting, decisions, result, 0, found, level }
end
