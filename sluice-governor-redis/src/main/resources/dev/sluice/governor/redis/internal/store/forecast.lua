-- Predicts the decision for a request, and when requests can be granted. In a block, because a script may have 200
-- locals at a time.
local wouldHold, placeOf
do

-- ---- predicting a decision

local function isHeldUp(own)
  for index = 0, own - 1 do
    local head = firstOf(index)
    if head then
      local by = heldBy(head.tokens, floorOf(index))
      if by ~= 'CLASS' then
        return true
      end
    end
  end
  return false
end

local function wouldBeFirst(ticket)
  local first = firstOf(ticket.rank)
  local turn = turnOf(ticket.rank, ticket.tenant)
  if turn.aside == 1 or firstInFifo(ticket.rank, ticket.tenant) then
    return false
  end
  return not first or startOf(ticket.rank, ticket.tenant) < first.tag
end

local function heldUp(ticket)
  local own, tokens = ticket.rank, ticket.tokens
  local forTenant = microsForTenant(ticket.tenant, tokens)
  if S.waiting > 0 then
    local first = forTenant == 0 and wouldBeFirst(ticket)
    for index = 0, #C.classes - 1 do
      local head = classState[index].minimumShare and not (index == own and first) and firstOf(index)
      if head and isWithinMinimumShare(index, head.tokens) then
        return 'LINE', -1
      end
      if index == own and first and isWithinMinimumShare(own, tokens) then
        return heldBy(tokens, 0)
      end
    end
    if isHeldUp(own) or (forTenant == 0 and not first) then
      return 'LINE', -1
    end
  elseif forTenant == 0 and isWithinMinimumShare(own, tokens) then
    return heldBy(tokens, 0)
  end
  if forTenant > 0 then
    return 'TENANT', forTenant
  end
  return heldBy(tokens, floorOf(own))
end

-- Returns why a request would have to wait now, after a drain; nil if it would not.
wouldHold = function(ticket)
  local by, micros = heldUp(ticket)
  if stopped then
    return 'LINE', -1
  end
  return by, micros
end

-- ---- when a request can be granted if no request arrives, leaves or is settled: the rule is in Forecaster.java

-- The tokens of so many waiters are added up one by one; those of more are estimated.
local COUNTED = 128

local function millis(micros)
  return ceilDiv(micros, 1000)
end

-- The waiters before a request: their number and their tokens, the tokens of its class and of its tenant.
local NOTHING_BEFORE = { count = 0, tokens = 0, ofClass = 0, ofTenant = 0 }

-- A request that is larger than the capacity of a slowed model goes when that is full.
local function microsAfter(before, own, floor)
  return microsUntil(modelBucket, before + math.min(own, modelBucket.cap - floor), floor)
end

-- Returns the wait for the model's tokens, and for the share of the class unless its minimum share comes first.
local function microsByTokens(ticket, before)
  local own = ticket.tokens
  local forTokens, forShare =
    microsAfter(before.tokens, own, 0), microsAfter(before.tokens, own, floorOf(ticket.rank))
  local minimumShare = classState[ticket.rank].minimumShare
  if minimumShare and before.ofClass + own <= minimumShare.cap then
    -- Waiters of the other classes do not go before it then.
    local forTokensAlone = microsAfter(before.ofClass, own, 0)
    local sooner = math.max(microsUntil(minimumShare, before.ofClass + own, 0), forTokensAlone)
    if millis(sooner) < millis(forShare) then
      return forTokensAlone, sooner
    end
  end
  return forTokens, forShare
end

-- Returns the dimension that binds a request behind the waiters before it, and its time: the latest over all
-- dimensions. NONE if none binds; negative if unknown, because a slot is free when another call is settled.
local function heldBehind(ticket, before)
  if S.running + before.count >= slotsOf(C.conc) then
    return 'CONCURRENCY', -1
  end
  local by, micros = 'NONE', 0
  local function orLater(dimension, other)
    if millis(other) > millis(micros) then
      by, micros = dimension, other
    end
  end
  local forTokens, forShare = microsByTokens(ticket, before)
  orLater('TOKENS', forTokens)
  orLater('CLASS', forShare)
  orLater('TENANT', microsForTenant(ticket.tenant, before.ofTenant + ticket.tokens))
  orLater('REQUESTS', microsForRequests(before.count + 1))
  orLater('PROVIDER', isPaused() and S.paused - now or 0)
  return by, micros
end

-- Returns the tokens of the waiters of its class before a request; `above` waiters are in the classes above.
local function tokensOfClass(ticket, above, ahead)
  local inClass, tokens = ahead - above, 0
  if inClass > COUNTED then
    return math.floor(classState[ticket.rank].tokens * inClass / classState[ticket.rank].size)
  end
  if inClass > 0 then
    for _, member in ipairs(redis.call('ZRANGE', WAITING, above, ahead - 1)) do
      tokens = tokens + string.match(member, '^%d+:(%d+):')
    end
  end
  return tokens
end

-- Returns the range of a tenant's waiters in one class; in the class of a ticket, of those before it.
local function rangeInFifo(index, ticket)
  local prefix = fifoOf(index, ticket.tenant)
  local last = (index == ticket.rank and ticket.number) and inFifo(ticket) or prefix .. '\255'
  return '[' .. prefix, '(' .. last
end

-- Returns the tokens of the waiters of its tenant before a request; 0 if the tenant has no budget of its own.
local function tokensOfTenant(ticket, ahead)
  local tokens = 0
  if ahead == 0 or not tenantBucketOf(ticket.tenant) then
    return tokens
  end
  local ids = {}
  for index = 0, ticket.rank do
    local first, last = rangeInFifo(index, ticket)
    if ahead > COUNTED and classState[index].size > 0 then
      local count = redis.call('ZLEXCOUNT', FIFO, first, last)
      tokens = tokens + math.floor(classState[index].tokens * count / classState[index].size)
    elseif classState[index].size > 0 then
      for _, member in ipairs(redis.call('ZRANGEBYLEX', FIFO, first, last, 'LIMIT', 0, COUNTED)) do
        ids[string.match(member, ':%d+:(.*)$')] = true
      end
    end
  end
  if next(ids) then
    for _, member in ipairs(redis.call('ZRANGE', WAITING, 0, ahead - 1)) do
      tokens = tokens + (ids[idIn(member)] and string.match(member, '^%d+:(%d+):') or 0)
    end
  end
  return tokens
end

-- Returns the queue position, from 1; the estimated wait and the dimension that binds it; the wait with an empty
-- waiting list. Times are negative if unknown.
placeOf = function(ticket, ahead)
  local above, tokens = 0, 0
  for index = 0, ticket.rank - 1 do
    above, tokens = above + classState[index].size, tokens + classState[index].tokens
  end
  local ofClass = tokensOfClass(ticket, above, ahead)
  local before =
    { count = ahead, tokens = tokens + ofClass, ofClass = ofClass, ofTenant = tokensOfTenant(ticket, ahead) }
  local by, eta = heldBehind(ticket, before)
  local alone, wait = heldBehind(ticket, NOTHING_BEFORE)
  return ahead + 1, eta, (alone == 'NONE' and eta >= 0) and 'LINE' or by, wait
end

end
