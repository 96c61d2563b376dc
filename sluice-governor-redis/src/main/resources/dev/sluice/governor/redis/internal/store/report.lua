-- Adopts the decisions that a node made without Redis, once. Nothing is charged: its share was reserved (guard.lua).
-- ARGV: node, number of this report, then five lists, each after its length:
--   decided tickets: id
--   idempotency keys that the node decided, and about which Redis had not answered it before: tenant, key
--   open reservations: id, tokens, tokens asked for, class, tenant, idempotency key or '', "ticket" if it was queued or
--     '', "unclaimed" or ''
--   waiting tickets, which this state may not know: id, tokens, tokens asked for, class, tenant, idempotency key or '',
--     microseconds until the deadline or 0, microseconds since the request, "awaited" or ''
--   granted tokens: second of the time of this server, tokens
-- Answers {1, ids of reservations that were settled elsewhere meanwhile …}; 0 instead of 1 for a repeated report.
local fence = 'f' .. NODE
if not open(server, { fence }) then
  return { 0 }
end
local isRepeated = tonumber(get(fence) or 0) >= tonumber(ARGV[2])

local ARGUMENTS_OF_GRANT = 8
local at = 3
local function nextArgument()
  at = at + 1
  return ARGV[at - 1]
end

local function nextNumber()
  return tonumber(nextArgument())
end

-- The node has answered the caller of a ticket: removes the waiter, or returns the grant, unless another node may have
-- delivered that.
local function discard(ticket)
  if ticket.state == 'w' then
    leave(ticket)
    forget(ticket)
  elseif ticket.claimed == 0 or ticket.unheard == NODE or ticket.asker == NODE or ticket.state == 'r' then
    returnGrant(ticket)
  end
end

local function discardId(id)
  local ticket = ticketOf(id)
  if ticket then
    discard(ticket)
  end
end

-- Discards an earlier ticket under the same key, about which this node got no answer.
local function freeKey(id, tenant, key)
  local other = key ~= '' and get(keyField(tenant, key))
  local ticket = other and other ~= id and ticketOf(other)
  if ticket and ticket.asker == NODE then
    discard(ticket)
  end
end

-- Answers a report again whose answer was lost.
local function answerRepeated()
  local result = { 0 }
  for _ = 1, nextNumber() do
    nextArgument()
  end
  for _ = 1, 2 * nextNumber() do
    nextArgument()
  end
  for _ = 1, nextNumber() do
    local id = nextArgument()
    at = at + ARGUMENTS_OF_GRANT - 1
    if not get('r' .. id) then
      result[#result + 1] = id
    end
  end
  return answer(result)
end

if isRepeated then
  return answerRepeated()
end
put(fence, ARGV[2])
setDue(fence, now + FENCE_LIFE)

local result = { 1 }

local function reopen()
  local grant = {
    id = nextArgument(), tokens = nextNumber(), asked = nextNumber(), class = nextArgument(),
    tenant = nextArgument(), key = nextArgument(),
    ofTicket = nextArgument() ~= '', unclaimed = nextArgument() ~= ''
  }
  discardId(grant.id)
  freeKey(grant.id, grant.tenant, grant.key)
  if get('r' .. grant.id) then
    -- Another node may have delivered the grant, which then stays.
    setDue('r' .. grant.id, now + C.life)
  elseif restore(grant) then
    -- Until another node delivers it, this node may decide its key again, and find that it has not delivered it.
    local ticket = tickets[grant.id]
    if ticket then
      ticket.asker = NODE
      ticket.unheard = ticket.claimed == 1 and NODE or ''
    end
  else
    result[#result + 1] = grant.id
  end
end

local function requeue()
  local ticket = {
    id = nextArgument(), state = 'w', tokens = nextNumber(), asked = nextNumber(), class = nextArgument(),
    tenant = nextArgument(), key = nextArgument(),
    asker = NODE, claimed = 0, unheard = '', reason = '', left = 0, number = 0, tag = 0
  }
  local left, waited, awaited = nextNumber(), nextNumber(), nextArgument()
  ticket.rank = classIndexOf(ticket.class)
  if ticketOf(ticket.id) or not ticket.rank or hasEnded(ticket.id) then
    return
  end
  ticket.deadline = left > 0 and now + left or 0
  ticket.since, ticket.node = now - waited, awaited ~= '' and NODE or ''
  ticket.weight, ticket.changed = weightOf(ticket.tenant), true
  freeKey(ticket.id, ticket.tenant, ticket.key)
  if S.waiting >= 2 * C.maxLine then
    -- Every node may have as many waiters as Redis.
    ticket.key, tickets[ticket.id] = '', ticket
    decide(ticket, 'r', 'LINE_FULL')
    return
  end
  if ticket.key ~= '' and get(keyField(ticket.tenant, ticket.key)) then
    ticket.key = ''
  elseif ticket.key ~= '' then
    put(keyField(ticket.tenant, ticket.key), ticket.id)
  end
  tickets[ticket.id] = ticket
  S.total = S.total + 1
  enter(ticket)
  if ticket.deadline > 0 then
    setDue('d' .. ticket.id, ticket.deadline)
  end
  restartIdleTimer(ticket)
end

countRefill()
for _ = 1, nextNumber() do
  discardId(nextArgument())
end
for _ = 1, nextNumber() do
  local tenant, key = nextArgument(), nextArgument()
  freeKey('', tenant, key)
end
for _ = 1, nextNumber() do
  reopen()
end
for _ = 1, nextNumber() do
  requeue()
end
for _ = 1, nextNumber() do
  local second, tokens = nextNumber(), nextNumber()
  -- A later second counts as the present one.
  countGranted(tokens, math.min(now, second * 10 ^ 6 + S.shift))
  S.consumed = S.consumed + tokens
end
worstExcess(COUNTED_SECONDS)
drain(granted)
return answer(result)
