-- Tokens that accrue evenly, kept as what is owed to a full bucket: a token is worth `unit`, and a
-- microsecond brings `accrual`. The history of a bucket has what was owed at each charge, so that no
-- refund is more than what has been owed ever since: pairs of an event and a debt, both rising, for
-- an entry that a later and smaller one makes useless is dropped. Between charges a debt only falls,
-- unless it is raised by something else than a charge (absent members, lost books): then the history
-- has how much of it was left that charges had made.

local function floorDiv(amount, part)
  local rest = math.fmod(amount, part)
  if rest < 0 then
    rest = rest + part
  end
  return (amount - rest) / part
end

local function ceilDiv(amount, part)
  return -floorDiv(-amount, part)
end

-- Returns the debt at `to` of a bucket that had the debt `owed` at `from`, in the time of the model state. The part of absent
-- members is not paid here, and the tokens that they can have saved are held back: the rule is `repay` in guard.lua. Returns also,
-- if a member was absent since, the most that may be refunded of earlier charges.
local function debtAfter(bucket, debt, from, to)
  local accrual, capacity = bucket.accrual, bucket.cap * bucket.unit
  if from - S.shift >= PRESENT then
    local elapsed = math.max(0, to - from)
    return elapsed < debt / accrual and math.max(0, debt - elapsed * accrual) or 0
  end
  if S.shift ~= 0 and PRESENT == NOT_YET then
    -- The clock was set back, so it is not known since when: nothing comes back until they return.
    local all = absencePeriods()
    local saved = math.ceil(capacity * all[#all].share)
    return math.max(debt, saved), debt - saved
  end
  return repay({ accrual = accrual, step = 1, capacity = capacity }, debt, 0, from - S.shift, to - S.shift)
end

-- Returns what a bucket owes of which the books know nothing.
local function debtOfUnknown(bucket)
  return (debtOfMissing({ accrual = bucket.accrual, step = 1, capacity = bucket.cap * bucket.unit }))
end

local function available(bucket)
  return floorDiv(bucket.cap * bucket.unit - bucket.debt, bucket.unit)
end

-- Until so many tokens can be taken and `floor` are left, if nobody takes any; 0 if it is so now.
local function microsUntil(bucket, tokens, floor)
  local missing = tokens * bucket.unit - ((bucket.cap - floor) * bucket.unit - bucket.debt)
  if missing <= 0 then
    return 0
  end
  return math.min(NEVER, PRESENT_PART == 1 and ceilDiv(missing, bucket.accrual)
    or math.ceil(missing / (bucket.accrual * PRESENT_PART)))
end

-- In a block, for a script may have 200 locals at a time.
local historyOf, charge, refund, overcharge, accrue, raiseDebt, rescale
do
local ENTRY, LONGEST_HISTORY = 16, 128 * 16

historyOf = function(bucket)
  if not bucket.history then
    bucket.history = get(bucket.field) or ''
  end
  return bucket.history
end

-- Neighbours become one with the smaller figure, which errs on the side of those who gave tokens.
local function halved(history)
  local entries = {}
  for at = 1, #history - ENTRY, 2 * ENTRY do
    local _, debt = struct.unpack('>dd', history, at)
    local event = struct.unpack('>d', history, at + ENTRY)
    entries[#entries + 1] = struct.pack('>dd', event, debt)
  end
  return table.concat(entries)
end

-- Notes that refunds of what was charged until now are no more than `most`; returns the event that follows.
local function record(bucket, most)
  local history = historyOf(bucket)
  local size = #history
  while size > 0 and struct.unpack('>d', history, size - 7) >= most do
    size = size - ENTRY
  end
  history = string.sub(history, 1, size)
  if size >= LONGEST_HISTORY then
    history = halved(history)
  end
  local event = S.events
  S.events = event + 1
  bucket.history = history .. struct.pack('>dd', event, most)
  return event + 1
end

-- Where the first entry from that event on begins; after the end if there is none.
local function indexOf(history, event)
  local low, high = 0, #history / ENTRY
  while low < high do
    local middle = math.floor((low + high) / 2)
    if struct.unpack('>d', history, middle * ENTRY + 1) < event then
      low = middle + 1
    else
      high = middle
    end
  end
  return low * ENTRY + 1
end

-- Takes them, there or not.
charge = function(bucket, tokens)
  local event = record(bucket, bucket.debt)
  bucket.debt = bucket.debt + tokens * bucket.unit
  bucket.changed = true
  return event
end

-- It turns out that so much less was charged just before that event.
local function correct(bucket, event, less)
  local history = historyOf(bucket)
  local first = indexOf(history, event)
  if first > #history then
    return
  end
  local later = {}
  for at = first, #history, ENTRY do
    local each, debt = struct.unpack('>dd', history, at)
    later[#later + 1] = struct.pack('>dd', each, debt - less)
  end
  local _, least = struct.unpack('>dd', later[1])
  local size = first - 1
  while size > 0 and struct.unpack('>d', history, size - 7) >= least do
    size = size - ENTRY
  end
  bucket.history = string.sub(history, 1, size) .. table.concat(later)
end

-- Gives back whole tokens of a charge, and says how many.
refund = function(bucket, tokens, event)
  local history = historyOf(bucket)
  local first = indexOf(history, event)
  local outstanding = bucket.debt
  if first <= #history then
    local _, least = struct.unpack('>dd', history, first)
    outstanding = math.min(outstanding, least)
  end
  local refunded = floorDiv(math.min(tokens * bucket.unit, outstanding), bucket.unit)
  if refunded > 0 then
    bucket.debt = bucket.debt - refunded * bucket.unit
    correct(bucket, event, refunded * bucket.unit)
    bucket.changed = true
  end
  return refunded
end

-- Charges what was used beyond an earlier charge, but no more whole tokens than let it owe twice its
-- capacity, and says how many.
overcharge = function(bucket, tokens)
  local most = floorDiv(math.max(0, 2 * bucket.cap * bucket.unit - bucket.debt), bucket.unit)
  local charged = math.min(most, tokens)
  record(bucket, bucket.debt)
  bucket.debt = bucket.debt + charged * bucket.unit
  bucket.changed = true
  return charged
end

-- Has time pay what a bucket with a history owes.
accrue = function(bucket, from, to)
  local debt, most = debtAfter(bucket, bucket.debt, from, to)
  bucket.debt = debt
  if most then
    record(bucket, math.max(0, most))
  end
end

-- Has a bucket owe at least so much, of which no refund gives anything back: nobody was granted it.
raiseDebt = function(bucket, debt)
  record(bucket, math.max(0, bucket.debt - debt))
  bucket.debt = math.max(bucket.debt, debt)
end

-- In other units. Never in favour of those who take: debts are rounded up, what can be refunded down.
rescale = function(bucket, unit)
  local old = bucket.unit
  if old == unit then
    return
  end
  local function scaled(units, up)
    local rest = math.fmod(units, old)
    local part = rest * unit
    if part < NEVER then
      part = up and ceilDiv(part, old) or floorDiv(part, old)
    else
      part = up and math.ceil(part / old) + 1 or math.max(0, math.floor(part / old) - 1)
    end
    return (units - rest) / old * unit + part
  end
  local entries, history = {}, historyOf(bucket)
  for at = 1, #history, ENTRY do
    local event, debt = struct.unpack('>dd', history, at)
    entries[#entries + 1] = struct.pack('>dd', event, scaled(debt, false))
  end
  bucket.history = table.concat(entries)
  bucket.debt = scaled(bucket.debt, true)
  bucket.unit = unit
  bucket.changed = true
end

end

-- ---- the buckets of this model

local modelBucket
local tenantBuckets = {}
local requests = {}

local function loadBuckets()
  modelBucket = { cap = S.cap, unit = S.unit, accrual = C.mint, debt = S.debt, field = 'h' }
  for i, rate in ipairs(C.requests) do
    requests[i] =
      { cap = rate.cap, unit = rate.unit, accrual = rate.mint, debt = S[rate.name], name = rate.name }
  end
  for index, class in ipairs(C.classes) do
    if class.g then
      classState[index - 1].minimumShare = {
        cap = class.g.cap, unit = class.g.unit, accrual = class.g.mint,
        debt = classState[index - 1].minimumShareDebt, field = 'g' .. (index - 1)
      }
    end
  end
end

local function advance()
  local from = S.at
  S.at = now
  if now > from then
    accrue(modelBucket, from, now)
    for _, each in ipairs(requests) do
      each.debt = debtAfter(each, each.debt, from, now)
    end
    for index = 0, #C.classes - 1 do
      local bucket = classState[index].minimumShare
      if bucket then
        accrue(bucket, from, now)
      end
    end
  end
end

local function writeBuckets()
  local function writeHistory(bucket)
    if bucket.history and bucket.history ~= (get(bucket.field) or '') then
      put(bucket.field, bucket.history)
    end
  end
  S.debt, S.unit, S.cap = modelBucket.debt, modelBucket.unit, modelBucket.cap
  writeHistory(modelBucket)
  for _, each in ipairs(requests) do
    S[each.name] = each.debt
  end
  for index = 0, #C.classes - 1 do
    local bucket = classState[index].minimumShare
    if bucket then
      classState[index].minimumShareDebt = bucket.debt
      writeHistory(bucket)
    end
  end
  for tenant, bucket in pairs(tenantBuckets) do
    if bucket.changed then
      put('m' .. tenant, struct.pack('>ddd', now, bucket.debt, bucket.unit) .. historyOf(bucket))
      setDue('m' .. tenant, now + ceilDiv(bucket.debt, bucket.accrual) + 1)
    end
  end
end

-- The allowance for usage far beyond reservations, a bucket of the model's burst and rate by itself.
local function allowanceOf(config)
  local bucket = { cap = config.cap, unit = config.unit, accrual = config.mint, debt = 0, history = '' }
  local stored = get('v')
  if stored then
    local at, debt, unit = struct.unpack('>ddd', stored)
    bucket.debt, bucket.unit = debt, unit
    rescale(bucket, config.unit)
    bucket.debt = debtAfter(bucket, bucket.debt, at, now)
  end
  return bucket
end

local function putAllowance(bucket)
  put('v', struct.pack('>ddd', now, bucket.debt, bucket.unit))
end

-- Returns how much of a reported usage is charged, by the rule of OverrunAllowance.java. One settlement charges at
-- most what a call of the model can use; usage beyond twice the reservation comes out of an allowance, which is
-- charged four tokens for each token and may be overdrawn by one settlement.
local function chargeable(reserved, reported)
  local charged = math.min(reported, math.max(reserved, C.most or C.cap))
  if charged > 2 * reserved then
    local bucket = allowanceOf(C)
    if available(bucket) <= 0 then
      return 2 * reserved
    end
    bucket.debt = bucket.debt + 4 * (charged - 2 * reserved) * bucket.unit
    putAllowance(bucket)
  end
  return charged
end

-- The budget of a tenant; none if it has none of its own.
local function budgetOf(tenant)
  local own = C.tenants and get('b' .. tenant)
  return own and cmsgpack.unpack(own) or C.others
end

local function weightOf(tenant)
  local budget = budgetOf(tenant)
  return budget and budget.weight or 1
end

-- Returns the bucket of a tenant; none if it has no budget. Debt that time has paid is not written if nothing else changes:
-- the next call finds the same.
local function tenantBucketOf(tenant)
  local bucket = tenantBuckets[tenant]
  local budget = not bucket and budgetOf(tenant)
  if budget then
    bucket = { cap = budget.cap, unit = budget.unit, accrual = budget.mint, debt = 0, history = '' }
    local stored = get('m' .. tenant)
    local at = 0
    if stored then
      local debt, unit
      at, debt, unit = struct.unpack('>ddd', stored)
      bucket.debt, bucket.unit, bucket.history = debt, unit, string.sub(stored, 25)
      if at < (budget.since or 0) then
        -- Until then it accrued at another rate.
        rescale(bucket, budget.before.unit)
        bucket.accrual = budget.before.mint
        accrue(bucket, at, budget.since)
        bucket.accrual, at = budget.mint, budget.since
      end
      rescale(bucket, budget.unit)
      accrue(bucket, at, now)
    else
      raiseDebt(bucket, debtOfUnknown(bucket))
    end
    if at < S.emptied then
      -- Nobody knows what it had left then.
      raiseDebt(bucket, debtAfter(bucket, bucket.cap * bucket.unit, S.emptied, now))
    end
    tenantBuckets[tenant] = bucket
  end
  return bucket
end

-- ---- the count of what is granted, apart from the buckets

local function perSecond()
  return C.mint * 10 ^ 6 / C.unit
end

-- Counts tokens that were granted at that time; a negative number takes back what was granted then and not used. So a
-- refund lowers the windows that had the grant, and hides nothing that was granted since. The limit of that time is
-- kept with it, so that another one makes no excess of it. Usage beyond a reservation was not granted by anybody, and is
-- not counted.
local function countGranted(tokens, at)
  local second = math.floor(at / 10 ^ 6)
  local field = countField(second)
  local stored = get(field)
  local sum, burst, rate = 0, C.cap, perSecond()
  if stored then
    local when, before, burstThen, rateThen = struct.unpack('>dddd', stored)
    if when > second then
      return
    end
    if when == second then
      sum, burst, rate = before, math.max(burst, burstThen), math.max(rate, rateThen)
    end
  end
  if sum + tokens >= 0 then
    put(field, struct.pack('>dddd', second, sum + tokens, burst, rate))
  end
end

-- Returns by how many tokens the worst window of whole seconds was above the limit, of the last `seconds`: burst, and
-- what accrues in the window, by the largest limit that held meanwhile. The worst ever found is remembered, so it is
-- enough to look at as much as may have changed since the last time.
local function worstExcess(seconds)
  local last = math.floor(now / 10 ^ 6)
  local fields = {}
  for i = 1, seconds do
    fields[i] = countField(last - seconds + i)
  end
  local stored = redis.call('HMGET', STATE, unpack(fields))
  local sums, burst, rate = {}, C.cap, perSecond()
  for i, field in ipairs(fields) do
    local value = written[field] or stored[i]
    if value then
      local second, tokens, burstThen, rateThen = struct.unpack('>dddd', value)
      if second == last - seconds + i then
        sums[i], burst, rate = tokens, math.max(burst, burstThen), math.max(rate, rateThen)
      end
    end
  end
  local window, worst = 0, 0
  for i = 1, seconds do
    window = math.max(0, window) + (sums[i] or 0) - rate
    worst = math.max(worst, window)
  end
  local found, known = math.floor(worst - burst), tonumber(get('w') or 0)
  if found > known then
    put('w', string.format('%.0f', found))
  end
  return math.max(known, found)
end
