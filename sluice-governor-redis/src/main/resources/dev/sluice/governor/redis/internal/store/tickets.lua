-- Tickets: waiters and their decisions. A grant is claimed by the node that receives it; a grant that is not claimed is
-- returned. Only a node that has claimed a grant may deliver it: the tokens of a delivered grant may be used.

-- The most denied tickets that are remembered for late polls; the oldest are forgotten. Tickets.java has the same
-- number.
local MAX_REFUSED = 10000

-- The most ids that are remembered after their end, because nodes may restore them later; the oldest are forgotten. All
-- are forgotten once the last is as old as the timeout of reservations: earlier grants have expired.
local MAX_ENDED = 10000

-- Stored in place of the node if several nodes wait for a ticket.
local SEVERAL = '*'

-- The decisions of this call, for the calling node, and the notices to other nodes.
local decisions, notices = {}, {}

local function writeTickets()
  for id, ticket in pairs(tickets) do
    if ticket and ticket.changed then
      ticket.changed = nil
      put('t' .. id, cmsgpack.pack(ticket))
    end
  end
end

-- With the length of the tenant's name, because one tenant's key could otherwise be that of another.
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

-- Restarts the idle timer, unless the ticket has a claimed grant, which ends with its reservation.
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
      -- A node of an earlier version, which does not know this key, has forgotten the ticket.
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

-- Frees the slot of a reservation, and leaves its tokens charged.
local function closeReservation(id)
  S.running = S.running - 1
  drop('r' .. id)
  dropDue('r' .. id)
end

-- Settles a reservation by its usage; returns the refunded tokens, negative for tokens that were charged in addition.
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

-- Returns whether a node has restored a reservation. The same call may be under way again, and must not run after the
-- end of the reservation.
local function isRestored(reservation)
  return reservation.event < 0
end

-- Remembers the end of a ticket or reservation that this state does not know, or that a node has restored.
local function recordEnded(id)
  redis.call('ZADD', ENDED, now, id)
  if redis.call('ZCARD', ENDED) > MAX_ENDED then
    redis.call('ZREM', ENDED, redis.call('ZRANGE', ENDED, 0, 0)[1])
  end
  setDue('o', now + C.life)
end

-- Returns whether another node may grant a ticket by itself, and report it as open: one that is absent, or that waits
-- for it and may be cut off by now.
local function mayBeGrantedElsewhere(ticket)
  return PRESENT == NOT_YET or (ticket.node ~= '' and ticket.node ~= NODE)
end

local function hasEnded(id)
  return redis.call('ZRANK', ENDED, id)
end

-- Gives a slot to a grant that this state has not made, or has ended; it is not charged, and refunds nothing. Nodes
-- that made the grant set `ofTicket` and `unclaimed`. Returns false if it was settled or canceled.
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

-- Notifies nodes of the end of a grant, because a node that has delivered it would restore it after lost data.
local function notifyEnded(id)
  notices[#notices + 1] = id .. '='
end

-- Notifies the same nodes that a reservation was extended.
local function notifyExtended(id)
  notices[#notices + 1] = id .. '+'
end

-- Returns whether nodes other than the calling one may have delivered its grant.
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

-- Returns the state of a ticket to the calling node; claims a grant, and restarts the idle timer. As long as only the
-- node that queued a ticket has asked for it, that node is its asker.
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

-- ---- expiration

-- Handlers of the kinds of entries in DUE (model_state.lua). A table, because a script may have 200 locals at a time.
local expiryHandlers = {}

-- The timeout of a reservation.
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

-- The idle timeout of a ticket.
function expiryHandlers.s(id)
  local ticket = ticketOf(id)
  if not ticket or (ticket.state == 'g' and ticket.claimed == 1) then
    return
  end
  if now < S.grace then
    setDue('s' .. id, S.grace)
  elseif ticket.state == 'w' then
    -- A late poll learns the reason, for as long again.
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

-- The maximum wait of a ticket.
function expiryHandlers.d(id)
  local ticket = ticketOf(id)
  if ticket then
    deny(ticket, 'DEADLINE')
  end
end

-- The time for which a tenant was set aside.
function expiryHandlers.a(name)
  local index = tonumber(string.sub(name, 1, 2))
  if classState[index] and classState[index].size > 0 then
    recall(index, string.sub(name, 4))
  end
end

-- The number of the last report of a node.
function expiryHandlers.f(node)
  drop('f' .. node)
end

-- The ids of tickets and reservations that have ended.
function expiryHandlers.o()
  redis.call('DEL', ENDED)
end

-- Until a call has checked DUE, `due` may be earlier than its first entry, and is never later.
local expiryChecked = false

local function expireDue()
  expiryChecked = true
  local expired = redis.call('ZRANGEBYSCORE', DUE, '-inf', now, 'LIMIT', 0, EXPIRED_AT_ONCE)
  S.due = NEVER
  for kind in string.gmatch('rdsamfo', '.') do
    for _, member in ipairs(expired) do
      -- An entry that was set again in this call is due later.
      if string.sub(member, 1, 1) == kind and not dueAt[member] then
        dueRemoved[#dueRemoved + 1] = member
        expiryHandlers[kind](string.sub(member, 2))
      end
    end
  end
  return #expired > 0
end

-- ---- the start and the end of every call

-- Reads the state; returns false if there is none, or one of a generation that the node does not know.
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
    -- Redis was unreachable, or no node is alive.
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

-- Writes the changes, notifies other nodes, and returns the reply.
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
  -- The notice has the time of the next check: the calling node may be dead by then.
  local again = #decisions > 0 or (stopped and S.wake <= now)
  if #notices > 0 or (again and S.waiting > 0) then
    redis.call('PUBLISH', STATE .. ':news', string.format('%.0f ', wait) .. table.concat(notices, ' '))
  end
  return { now, wait, S.waiting, decisions, result, 0, found, level }
end
