-- Sets the configuration of a model. ARGV: node, then
--   configure, configuration as JSON, "full" or "empty" (the level of new state), its generation, then each tenant and
--     its budget as JSON: answers {1 if that changed the configuration, generation}
--   join, the same arguments: as configure, but existing state keeps its configuration
--   adjust, factor, most tokens or '', microseconds of a pause, number of the factor: an adjustment by the provider

-- New state that starts empty grants nothing for this time, in which other nodes restore their grants.
local RESTORE_TIME = 1.5 * 10 ^ 6

-- Empties all buckets, because their levels are unknown.
local function emptyBuckets()
  S.emptied = now
  S.paused = math.max(S.paused, now + RESTORE_TIME)
  raiseDebt(modelBucket, modelBucket.cap * modelBucket.unit)
  for _, each in ipairs(requests) do
    each.debt = math.max(each.debt, each.cap * each.unit)
  end
  for index = 0, #C.classes - 1 do
    local bucket = classState[index].minimumShare
    if bucket then
      raiseDebt(bucket, bucket.cap * bucket.unit)
    end
  end
  S.left = available(modelBucket)
end

local function createState(generation, full)
  S, classState = {}, {}
  for _, name in ipairs(NAMES) do
    S[name] = 0
  end
  S.unit, S.cap, S.factor, S.generation = C.unit, C.cap, 1, generation
  S.due, S.wake, S.at, S.refilled = NEVER, NEVER, server, server
  for index = 0, #C.classes - 1 do
    classState[index] = { time = 0, size = 0, tokens = 0, minimumShareDebt = 0, epoch = 0 }
  end
  now = server
  loadBuckets()
  -- Absent members may have granted from it before this state was created.
  modelBucket.debt = debtOfUnknown(modelBucket)
  for _, each in ipairs(requests) do
    each.debt = debtOfUnknown(each)
  end
  for index = 0, #C.classes - 1 do
    local bucket = classState[index].minimumShare
    if bucket then
      bucket.debt = debtOfUnknown(bucket)
    end
  end
  S.left = available(modelBucket)
  -- Listeners have known other state of this model, and learn that this is new.
  if redis.call('PUBLISH', STATE .. ':news', '-1 new') > 0 or not full then
    emptyBuckets()
  end
end

-- Sets the part of the model's capacity and rate that is in force.
local function slow(factor)
  S.factor = factor
  modelBucket.accrual = C.mint
  rescale(modelBucket, math.ceil(C.unit / factor))
  modelBucket.cap = math.max(1, math.floor(C.cap * factor))
end

-- Factors expire after ten minutes, when another node sends one.
local FACTOR_LIFE = 600 * 10 ^ 6

-- Returns the smallest factor of all nodes: a node without refusals knows no more than one with refusals. Nodes number
-- their factors; the higher number counts, in whichever order they arrive.
local function smallestFactor(factor, number)
  local stored = get('p')
  local all, least = {}, 1
  for node, each in pairs(stored and cmsgpack.unpack(stored) or {}) do
    if now - each.at < FACTOR_LIFE then
      all[node] = each
    end
  end
  if not all[NODE] or (all[NODE].number or 0) <= number then
    all[NODE] = { factor = factor, number = number, at = now }
  end
  for _, each in pairs(all) do
    least = math.min(least, each.factor)
  end
  put('p', cmsgpack.pack(all))
  return least
end

-- Removes all waiters; returns their tickets in order.
local function clearWaitingList()
  local waiting = {}
  for _, member in ipairs(redis.call('ZRANGE', WAITING, 0, -1)) do
    local ticket = ticketOf(idIn(member))
    if ticket then
      waiting[#waiting + 1] = ticket
      countPlaces(ticket.tenant, -1)
    end
  end
  redis.call('DEL', WAITING, HEADS, TURNS, FIFO)
  turns = {}
  S.waiting, S.turns = 0, 0
  return waiting
end

-- Moves the debts of all buckets to the units of the new limits.
local function moveBuckets(before)
  local minimumShares, seconds = {}, {}
  for index, class in ipairs(before.C.classes) do
    minimumShares[class.name] = before.classState[index - 1].minimumShare
  end
  for _, each in ipairs(before.requests) do
    seconds[each.name] = each
  end
  for i, rate in ipairs(C.requests) do
    local old = seconds[rate.name]
    requests[i] = { cap = rate.cap, unit = rate.unit, accrual = rate.mint, debt = 0, name = rate.name }
    if old then
      old.history = ''
      rescale(old, rate.unit)
      requests[i].debt = old.debt
    end
  end
  for index, class in ipairs(C.classes) do
    local bucket = minimumShares[class.name]
    if class.g then
      local next = { cap = class.g.cap, unit = class.g.unit, accrual = class.g.mint, debt = 0 }
      next.history, next.field, next.changed = '', 'g' .. (index - 1), true
      if bucket then
        historyOf(bucket)
        rescale(bucket, class.g.unit)
        next.debt, next.history = bucket.debt, bucket.history
      end
      classState[index - 1].minimumShare = next
    end
  end
  if get('v') then
    -- Tokens have accrued at the old rate until now.
    local allowance = allowanceOf(before.C)
    rescale(allowance, C.unit)
    putAllowance(allowance)
  end
  for tenant, bucket in pairs(tenantBuckets) do
    local budget = budgetOf(tenant)
    if budget then
      rescale(bucket, budget.unit)
      bucket.cap, bucket.accrual, bucket.changed = budget.cap, budget.mint, true
    else
      tenantBuckets[tenant] = nil
    end
  end
end

-- A longer waiting list stays as it is if all classes with waiters keep their indexes, because Redis would be blocked
-- for too long. Tickets that are too large for the new configuration are denied when they are first.
local LONG_LIST = 500

local function canKeepOrder(config)
  if S.waiting <= LONG_LIST then
    return false
  end
  for i, class in ipairs(C.classes) do
    local next = config.classes[i]
    if classState[i - 1].size > 0 and (not next or next.name ~= class.name) then
      return false
    end
  end
  return true
end

local function reconfigure(config)
  local before = { C = C, classState = classState, requests = requests }
  local keepOrder = canKeepOrder(config)
  local waiting = keepOrder and {} or clearWaitingList()
  C, classState, requests = config, {}, {}
  for index = 0, #C.classes - 1 do
    classState[index] = { time = 0, size = 0, tokens = 0, minimumShareDebt = 0, epoch = 0 }
    local old = keepOrder and before.classState[index]
    if old then
      classState[index].time, classState[index].size = old.time, old.size
      classState[index].tokens, classState[index].epoch = old.tokens, old.epoch
    end
  end
  moveBuckets(before)
  slow(S.factor)
  S.left = available(modelBucket)
  local indexes = {}
  for index, class in ipairs(C.classes) do
    indexes[class.name] = index - 1
  end
  for _, ticket in ipairs(waiting) do
    local index = indexes[ticket.class]
    if not index then
      decide(ticket, 'r', 'REMOVED')
    elseif ticket.tokens > largest(index, ticket.tenant) then
      decide(ticket, 'r', 'EXCEEDS_CAPACITY')
    else
      ticket.rank, ticket.weight, ticket.changed = index, weightOf(ticket.tenant), true
      enter(ticket)
    end
  end
  -- No reservation outlives the new timeout.
  if C.life < before.C.life then
    local latest = now + C.life
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', DUE, '(' .. string.format('%.0f', latest), '+inf')) do
      if string.sub(member, 1, 1) == 'r' then
        setDue(member, latest)
      end
    end
  end
  drain(granted)
end

-- Writes the configuration for the fast scripts, which do not run with budgets of tenants or minimum shares.
local function writeFastPath(old)
  local special = (C.tenants or C.others) and 1 or 0
  for _, class in ipairs(C.classes) do
    special = class.g and 1 or special
  end
  local rates = { second = {}, minute = {} }
  for _, rate in ipairs(C.requests) do
    rates[rate.name] = rate
  end
  local second, minute = rates.second, rates.minute
  put('q', struct.pack('>dddddddddddd', C.mint, C.conc, C.life, special, second.cap or 0,
    second.unit or 0, second.mint or 1, minute.cap or 0, minute.unit or 0, minute.mint or 1, C.cap, perSecond()))
  for _, class in ipairs(old or {}) do
    drop('n' .. class.name)
  end
  for index, class in ipairs(C.classes) do
    put('n' .. class.name, struct.pack('>dd', index - 1, class.ceiling))
  end
end

local function hasSameRate(one, other)
  return one.unit == other.unit and one.mint == other.mint
end

-- Tokens that have accrued until now did so at the old rates. Named tenants are advanced at once; all others, which may
-- be many, accrue that time at the slower of the rates since they were last seen.
local function moveOthers(config)
  local was, next = C.others, config.others
  if not was or not next then
    return false
  end
  if hasSameRate(was, next) then
    next.since, next.before = was.since, was.before
    return false
  end
  next.since, next.before = now, { unit = was.unit, mint = was.mint }
  local slower = was.before
  if slower and now - was.since < 2 * was.cap * was.unit / was.mint
    and slower.mint / slower.unit < was.mint / was.unit then
    next.before = slower
  end
  return true
end

-- Tenants without stored buckets keep their level.
local function moveEmptied(was, next)
  local unknownTenant = { cap = was.cap, unit = was.unit, accrual = was.mint, history = '' }
  unknownTenant.debt = debtAfter(unknownTenant, was.cap * was.unit, S.emptied, now)
  rescale(unknownTenant, next.unit)
  S.emptied = now - floorDiv(math.max(0, next.cap * next.unit - unknownTenant.debt), next.mint)
end

-- Writes the budgets of tenants, and removes those of tenants that are no longer named.
local function writeBudgets(exists, config)
  local all = exists and moveOthers(config) and S.emptied > 0
  local function moves(name, next)
    local was = exists and budgetOf(name)
    if was and next and (all or not hasSameRate(was, next)) then
      tenantBucketOf(name)
    end
  end
  local old, named, names = get('o'), {}, {}
  for i = 6, #ARGV, 2 do
    local name, budget = ARGV[i], cjson.decode(ARGV[i + 1])
    named[name] = true
    names[#names + 1] = name
    moves(name, budget)
    put('b' .. name, cmsgpack.pack(budget))
  end
  for _, name in ipairs(old and cmsgpack.unpack(old) or {}) do
    if not named[name] then
      moves(name, config.others)
      drop('b' .. name)
    end
  end
  if #names > 0 then
    put('o', cmsgpack.pack(names))
  elseif old then
    drop('o')
  end
  if all then
    moveEmptied(C.others, config.others)
  end
end

local configuring = ARGV[2] ~= 'adjust'
local exists = open(server, {}, configuring)
if configuring then
  local config = cjson.decode(ARGV[3])
  if exists and KNOWN_GENERATION > 0 and KNOWN_GENERATION ~= S.generation and S.emptied == 0 then
    emptyBuckets()
  end
  if exists and (C.print == config.print or ARGV[2] == 'join') then
    return answer({ 0, S.generation })
  end
  writeBudgets(exists, config)
  local classes = exists and C.classes
  if exists then
    reconfigure(config)
  else
    redis.call('DEL', DUE, WAITING, HEADS, TURNS, FIFO, REFUSED)
    C = config
    createState(tonumber(ARGV[5]), ARGV[4] == 'full')
  end
  put('c', cmsgpack.pack(config))
  writeFastPath(classes)
  return answer({ 1, S.generation })
end
if not exists then
  return { 0 }
end
slow(smallestFactor(tonumber(ARGV[3]), tonumber(ARGV[6])))
if ARGV[4] ~= '' then
  modelBucket.debt = math.max(modelBucket.debt,
    modelBucket.cap * modelBucket.unit - math.max(0, tonumber(ARGV[4])) * modelBucket.unit)
end
local pause = tonumber(ARGV[5])
if pause > 0 then
  S.paused = math.max(S.paused, now + pause)
end
S.left = available(modelBucket)
drain(granted)
return answer({ 1 })
