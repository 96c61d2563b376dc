-- The waiters of a model and their order. First come, first served for each tenant, and fair between tenants of a class
-- by start tags, in tokens by weight. While the head of a class waits for the model no lower class is granted; one that
-- waits only for the share of its class or for its tenant delays no other. A class with a minimum share goes before all
-- others as soon as that has accrued. ModelWaitingList.java is the same for one process.

-- The tags of a class lie below this, and its scores above those of the classes before it.
local BAND = 2 ^ 45

-- Stored turns without waiters, below which no cleanup is needed.
local SPARE_TURNS = 256

-- Returns the index of a class in the configuration in force, which another node may have set.
local function classIndexOf(class)
  for index, each in ipairs(C.classes) do
    if each.name == class then
      return index - 1
    end
  end
end

local function unknownClass()
  local result = { 'k' }
  for _, each in ipairs(C.classes) do
    result[#result + 1] = each.name
  end
  return result
end

local tickets = {}

local function ticketOf(id)
  local ticket = tickets[id]
  if ticket == nil then
    local stored = get('t' .. id)
    ticket = stored and cmsgpack.unpack(stored)
    tickets[id] = ticket
  end
  return ticket
end

local function memberOf(ticket)
  return string.format('%016.0f:%.0f:%s', ticket.number, ticket.tokens, ticket.id)
end

local function idIn(member)
  return string.match(member, '^%d+:%d+:(.*)$')
end

local function scoreOf(ticket)
  return ticket.rank * BAND + ticket.tag
end

-- ---- turns

local turns = {}

local function turnName(index, tenant)
  -- %s would end at a zero byte.
  return string.format('%02d:', index) .. tenant
end

-- Returns the turn of a tenant. Turns from before the waiting list of the class was empty count as new.
local function turnOf(index, tenant)
  local name = turnName(index, tenant)
  local turn = turns[name]
  if not turn then
    local stored = redis.call('HGET', TURNS, name)
    turn = stored and cmsgpack.unpack(stored)
    if not turn or turn.epoch ~= classState[index].epoch then
      S.turns = S.turns + (turn and 0 or 1)
      turn = { finish = 0, aside = 0, epoch = classState[index].epoch }
    end
    turns[name] = turn
  end
  return turn
end

local function writeTurns()
  if S.waiting == 0 then
    if S.turns > 0 then
      redis.call('DEL', TURNS)
      S.turns = 0
    end
    return
  end
  for name, turn in pairs(turns) do
    redis.call('HSET', TURNS, name, cmsgpack.pack(turn))
  end
  if S.turns > 2 * S.waiting + SPARE_TURNS then
    local all = redis.call('HGETALL', TURNS)
    for i = 1, #all, 2 do
      local index = tonumber(string.sub(all[i], 1, 2))
      local turn = cmsgpack.unpack(all[i + 1])
      local each = classState[index]
      if not each or turn.epoch ~= each.epoch or (turn.finish <= each.time and turn.aside == 0) then
        redis.call('HDEL', TURNS, all[i])
      end
    end
    S.turns = redis.call('HLEN', TURNS)
  end
end

-- ---- one class after the other

local function fifoOf(index, tenant)
  return string.format('%02d', index) .. redis.sha1hex(tenant) .. ':'
end

local function firstInFifo(index, tenant)
  local prefix = fifoOf(index, tenant)
  local member = redis.call('ZRANGEBYLEX', FIFO, '[' .. prefix, '(' .. prefix .. '\255', 'LIMIT', 0, 1)[1]
  return member and ticketOf(string.match(member, ':%d+:(.*)$'))
end

local function inFifo(ticket)
  return fifoOf(ticket.rank, ticket.tenant) .. string.format('%016.0f:%s', ticket.number, ticket.id)
end

local function isLastInFifo(ticket)
  local prefix = fifoOf(ticket.rank, ticket.tenant)
  local last = redis.call('ZREVRANGEBYLEX', FIFO, '(' .. prefix .. '\255', '[' .. prefix, 'LIMIT', 0, 1)[1]
  return last == inFifo(ticket)
end

local function recall(index, tenant)
  local turn = turnOf(index, tenant)
  if turn.aside == 1 then
    turn.aside = 0
    local head = firstInFifo(index, tenant)
    if head then
      redis.call('ZADD', HEADS, scoreOf(head), memberOf(head))
    end
  end
end

local function setAside(ticket, micros)
  redis.call('ZREM', HEADS, memberOf(ticket))
  turnOf(ticket.rank, ticket.tenant).aside = 1
  setDue('a' .. turnName(ticket.rank, ticket.tenant), now + micros)
end

local function startOf(index, tenant)
  return math.max(classState[index].time, turnOf(index, tenant).finish)
end

-- Returns the number of waiters of a tenant, over all classes.
local function placesOf(tenant)
  return tonumber(get('l' .. tenant) or 0)
end

local function countPlaces(tenant, more)
  local count = placesOf(tenant) + more
  if count > 0 then
    put('l' .. tenant, string.format('%.0f', count))
  else
    drop('l' .. tenant)
  end
end

-- Returns whether a tenant gets no further place: the waiting list is full, or the tenant has nine times as many places
-- as are free. Tickets.isFullFor is the same rule.
local function isFullFor(tenant)
  local free = C.maxLine - S.waiting
  return free <= 0 or placesOf(tenant) >= 9 * free
end

local function enter(ticket)
  countPlaces(ticket.tenant, 1)
  local turn, each = turnOf(ticket.rank, ticket.tenant), classState[ticket.rank]
  ticket.number = S.numbers
  S.numbers = S.numbers + 1
  ticket.tag = math.min(BAND - 1, math.max(each.time, turn.finish))
  turn.finish = ticket.tag + ticket.tokens / ticket.weight
  S.waiting = S.waiting + 1
  each.size = each.size + 1
  each.tokens = each.tokens + ticket.tokens
  redis.call('ZADD', WAITING, scoreOf(ticket), memberOf(ticket))
  if turn.aside == 0 and not firstInFifo(ticket.rank, ticket.tenant) then
    redis.call('ZADD', HEADS, scoreOf(ticket), memberOf(ticket))
  end
  redis.call('ZADD', FIFO, 0, inFifo(ticket))
end

local function remove(ticket)
  countPlaces(ticket.tenant, -1)
  local each, member = classState[ticket.rank], memberOf(ticket)
  S.waiting = S.waiting - 1
  if S.waiting == 0 and get('e') then
    drop('e')
  end
  each.size = each.size - 1
  each.tokens = each.tokens - ticket.tokens
  redis.call('ZREM', WAITING, member)
  redis.call('ZREM', FIFO, inFifo(ticket))
  if redis.call('ZREM', HEADS, member) == 1 then
    local head = firstInFifo(ticket.rank, ticket.tenant)
    if head then
      redis.call('ZADD', HEADS, scoreOf(head), memberOf(head))
    end
  end
  if each.size == 0 then
    each.time, each.epoch = 0, each.epoch + 1
    local prefix = string.format('%02d:', ticket.rank)
    for name in pairs(turns) do
      if string.sub(name, 1, 3) == prefix then
        turns[name] = { finish = 0, aside = 0, epoch = each.epoch }
      end
    end
  end
end

-- Removes a waiter that is granted; the turns of others count from its tag.
local function serve(ticket)
  local each = classState[ticket.rank]
  each.time = math.max(each.time, ticket.tag)
  remove(ticket)
end

-- Removes a waiter without a grant; the tokens that it did not get are no turn of its tenant.
local function leave(ticket)
  if isLastInFifo(ticket) then
    turnOf(ticket.rank, ticket.tenant).finish = ticket.tag
  end
  remove(ticket)
  if classState[ticket.rank].size > 0 then
    recall(ticket.rank, ticket.tenant)
  end
end

-- ---- shortages

local function isPaused()
  return S.paused > now
end

local function microsForTenant(tenant, tokens)
  local bucket = tenantBucketOf(tenant)
  return bucket and microsUntil(bucket, tokens, 0) or 0
end

local function microsForRequests(count)
  local micros = 0
  for _, each in ipairs(requests) do
    micros = math.max(micros, microsUntil(each, count, 0))
  end
  return micros
end

-- A request that is larger than the capacity of a slowed model goes when that is full.
local function microsFor(tokens, floor)
  return microsUntil(modelBucket, math.min(tokens, modelBucket.cap - floor), floor)
end

-- Returns the tokens that are reserved for the classes above.
local function floorOf(index)
  local ceiling = math.max(1, math.floor(C.classes[index + 1].ceiling * S.factor))
  return math.max(0, modelBucket.cap - ceiling)
end

local function isWithinMinimumShare(index, tokens)
  local bucket = classState[index].minimumShare
  return bucket and microsUntil(bucket, tokens, 0) == 0
end

-- Returns the dimension that blocks a grant of so many tokens, regardless of waiters, and its time; negative if time
-- alone does not help.
local function heldBy(tokens, floor)
  if isPaused() then
    return 'PROVIDER', S.paused - now
  end
  if S.running >= slotsOf(C.conc) then
    return 'CONCURRENCY', -1
  end
  local forTokens, forRequests = microsFor(tokens, 0), microsForRequests(1)
  if forTokens > 0 or forRequests > 0 then
    if forTokens >= forRequests then
      return 'TOKENS', forTokens
    end
    return 'REQUESTS', forRequests
  end
  local forClass = microsFor(tokens, floor)
  if forClass > 0 then
    return 'CLASS', forClass
  end
end

-- Denies a waiter that exceeds the limits after a change of the configuration; set by tickets.lua.
local denyTooLarge

local function largest(index, tenant)
  local budget = budgetOf(tenant)
  local ceiling = C.classes[index + 1].ceiling
  return budget and math.min(ceiling, budget.cap) or ceiling
end

-- The most heads that one call skips, because Redis does nothing else meanwhile. After them no class has a head,
-- nothing is granted, and the next call is due at once.
local MAX_SKIPPED = 100
local skipped, stopped = 0, false

local function skip()
  stopped = skipped == MAX_SKIPPED
  skipped = skipped + 1
  return not stopped
end

-- Returns the first waiter of a class whose tenant can afford its tokens.
local function firstOf(index)
  while not stopped and classState[index].size > 0 do
    local member =
      redis.call('ZRANGEBYSCORE', HEADS, index * BAND, '(' .. string.format('%.0f', (index + 1) * BAND),
        'LIMIT', 0, 1)[1]
    local head = member and ticketOf(idIn(member))
    if not head then
      return nil
    end
    if head.tokens > largest(index, head.tenant) then
      if skip() then
        denyTooLarge(head)
      end
    else
      local micros = microsForTenant(head.tenant, head.tokens)
      if micros == 0 then
        return head
      end
      if skip() then
        setAside(head, micros)
      end
    end
  end
end

-- Sets when the waiting list is checked next. While a member is absent that time is unknown: the tokens that it can
-- have saved and the slots that it may have filled stay reserved until it returns. Then checks are neither frequent nor
-- late.
local function wake(micros)
  if PRESENT == NOT_YET then
    S.wake = math.min(S.wake, now + (micros >= 0 and math.min(math.max(micros, 50000), 250000) or 250000))
  elseif micros >= 0 then
    S.wake = math.min(S.wake, now + micros)
  end
end

-- ---- granting

-- Charges a grant and opens its reservation.
local function reserve(ticket, hasTicket)
  S.running = S.running + 1
  for _, each in ipairs(requests) do
    each.debt = each.debt + each.unit
  end
  local minimumShare, fromMinimumShare, minimumShareEvent = classState[ticket.rank].minimumShare, 0, 0
  if minimumShare then
    -- It is a minimum, not an extra: it is charged for every grant of the class, as far as it goes.
    fromMinimumShare = math.max(0, math.min(available(minimumShare), ticket.tokens))
    minimumShareEvent = charge(minimumShare, fromMinimumShare)
  end
  local event = charge(modelBucket, ticket.tokens)
  local bucket = tenantBucketOf(ticket.tenant)
  local tenantEvent = bucket and charge(bucket, ticket.tokens) or -1
  put('r' .. ticket.id, packReservation({
    tokens = ticket.tokens, asked = ticket.asked, rank = ticket.rank, class = ticket.class,
    tenant = ticket.tenant, at = now, event = event, tenantEvent = tenantEvent, fromMinimumShare = fromMinimumShare,
    minimumShareEvent = minimumShareEvent, ticket = hasTicket and 1 or 0
  }))
  setDue('r' .. ticket.id, now + C.life)
  S.consumed = S.consumed + ticket.tokens
  S.left = available(modelBucket)
  countGranted(ticket.tokens, now)
end

-- The shortage of the model's own budget, of tokens or requests, for the head at which granting stopped.
local shortage

-- Grants the head, or returns the dimension that blocks it.
local function tryGrant(head, floor, granted)
  local by, micros = heldBy(head.tokens, floor)
  if by then
    wake(micros)
    shortage = (by == 'TOKENS' or by == 'REQUESTS') and { by = by, needed = by == 'TOKENS' and head.tokens or 1 }
    return by
  end
  serve(head)
  reserve(head, true)
  granted(head)
end

local function grantOne(granted)
  shortage = nil
  for index = 0, #C.classes - 1 do
    local head = classState[index].minimumShare and firstOf(index)
    if head and isWithinMinimumShare(index, head.tokens) then
      return not tryGrant(head, 0, granted)
    end
  end
  for index = 0, #C.classes - 1 do
    local head = firstOf(index)
    if head then
      local by = tryGrant(head, floorOf(index), granted)
      if not by then
        return true
      end
      if by ~= 'CLASS' then
        break
      end
    end
  end
  for index = 0, #C.classes - 1 do
    -- A minimum share that accrues later goes before the present waiters.
    local head = classState[index].minimumShare and firstOf(index)
    if head then
      wake(microsUntil(classState[index].minimumShare, head.tokens, 0))
    end
  end
  return false
end

-- New tokens that this call found, and the level then.
local found, level = 0, 0

-- Counts the tokens that accrued since the last decision; called before each decision.
local function countRefill()
  local tokens = available(modelBucket)
  if tokens > S.left then
    S.refills = S.refills + 1
    S.refilled = now
    found, level = found + tokens - S.left, tokens
  end
  S.left = tokens
end

-- Returns the shortage of the model's own budget for the first waiter, and the time since which it lasts.
local function shortageOf()
  local stored = S.waiting > 0 and get('e')
  if stored then
    local since, needed, requests = struct.unpack('>ddd', stored)
    return { since = since, needed = needed, by = requests == 1 and 'REQUESTS' or 'TOKENS' }
  end
end

local function noteShortage()
  local before = shortageOf()
  if S.waiting > 0 and shortage then
    put('e', struct.pack('>ddd', before and before.since or now, shortage.needed, shortage.by == 'REQUESTS' and 1 or 0))
  elseif get('e') then
    drop('e')
  end
end

-- Grants all waiters that can be granted now, at most a batch.
local function drain(granted)
  countRefill()
  if UNREPORTED then
    -- Its report may remove tickets from the waiting list. The next call grants.
    S.wake = now
    return
  end
  S.wake = NEVER
  local count = 0
  while S.waiting > 0 and count < C.batch and grantOne(granted) do
    S.wake = NEVER
    count = count + 1
  end
  if S.waiting > 0 and (count == C.batch or stopped) then
    S.wake = now
  else
    noteShortage()
  end
end
