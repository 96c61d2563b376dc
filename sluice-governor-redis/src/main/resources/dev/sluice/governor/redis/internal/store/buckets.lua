-- Token buckets that accrue evenly, stored as the debt to a full bucket: a token is worth `unit`, and `accrual` accrues
-- per microsecond. The history of a bucket has the debt before each charge, because a refund is at most the least debt
-- since its charge: pairs of an event and a debt, both rising, because an entry is dropped when a later and smaller one
-- makes it useless. Between charges a debt only falls, unless absent members or lost data raise it: then the history
-- has the part of the debt that charges had made.

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

-- Returns the debt at `to` of a bucket that had `debt` at `from`, in the time of the model state. The part of absent
-- members does not accrue here, and the tokens that they can have saved stay reserved: the rule is `repay` in
-- guard.lua. Returns also, if a member was absent since, the most that may be refunded of earlier charges.
local function debtAfter(bucket, debt, from, to)
  local accrual, capacity = bucket.accrual, bucket.cap * bucket.unit
  if from - S.shift >= PRESENT then
    local elapsed = math.max(0, to - from)
    return elapsed < debt / accrual and math.max(0, debt - elapsed * accrual) or 0
  end
  if S.shift ~= 0 and PRESENT == NOT_YET then
    -- The clock was set back, so the start of the absence is unknown: nothing accrues until the members return.
    local all = absencePeriods()
    local saved = math.ceil(capacity * all[#all].share)
    return math.max(debt, saved), debt - saved
  end
  return repay({ accrual = accrual, step = 1, capacity = capacity }, debt, 0, from - S.shift, to - S.shift)
end

-- Returns the debt of a bucket that this state does not know.
local function debtOfUnknown(bucket)
  return (debtOfMissing({ accrual = bucket.accrual, step = 1, capacity = bucket.cap * bucket.unit }))
end

local function available(bucket)
  return floorDiv(bucket.cap * bucket.unit - bucket.debt, bucket.unit)
end

-- Returns the time until so many tokens can be taken and `floor` are left, if no tokens are taken; 0 if that is now.
local function microsUntil(bucket, tokens, floor)
  local missing = tokens * bucket.unit - ((bucket.cap - floor) * bucket.unit - bucket.debt)
  if missing <= 0 then
    return 0
  end
  return math.min(NEVER, PRESENT_PART == 1 and ceilDiv(missing, bucket.accrual)
    or math.ceil(missing / (bucket.accrual * PRESENT_PART)))
end

-- In a block, because a script may have 200 locals at a time.
local historyOf, charge, refund, overcharge, accrue, raiseDebt, rescale
do
local ENTRY, LONGEST_HISTORY = 16, 128 * 16

historyOf = function(bucket)
  if not bucket.history then
    bucket.history = get(bucket.field) or ''
  end
  return bucket.history
end

-- Merges neighbors into one entry with the smaller debt: refunds become smaller, never larger.
local function halved(history)
  local entries = {}
  for at = 1, #history - ENTRY, 2 * ENTRY do
    local _, debt = struct.unpack('>dd', history, at)
    local event = struct.unpack('>d', history, at + ENTRY)
    entries[#entries + 1] = struct.pack('>dd', event, debt)
  end
  return table.concat(entries)
end

-- Records that refunds of the charges until now are at most `most`; returns the next event.
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

-- Returns the position of the first entry from that event on; after the end if there is none.
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

-- Charges `tokens` unconditionally; the balance may go negative.
charge = function(bucket, tokens)
  local event = record(bucket, bucket.debt)
  bucket.debt = bucket.debt + tokens * bucket.unit
  bucket.changed = true
  return event
end

-- Corrects the history: the charge just before that event was smaller by `less`.
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

-- Refunds whole tokens of a charge; returns their number.
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

-- Charges usage beyond an earlier charge, up to a debt of twice the capacity; returns the number of whole tokens.
overcharge = function(bucket, tokens)
  local most = floorDiv(math.max(0, 2 * bucket.cap * bucket.unit - bucket.debt), bucket.unit)
  local charged = math.min(most, tokens)
  record(bucket, bucket.debt)
  bucket.debt = bucket.debt + charged * bucket.unit
  bucket.changed = true
  return charged
end

-- Reduces the debt of a bucket with a history by the accrual of a time.
accrue = function(bucket, from, to)
  local debt, most = debtAfter(bucket, bucket.debt, from, to)
  bucket.debt = debt
  if most then
    record(bucket, math.max(0, most))
  end
end

-- Raises the debt to at least `debt`; no refund lowers the difference, because it was granted to no caller.
raiseDebt = function(bucket, debt)
  record(bucket, math.max(0, bucket.debt - debt))
  bucket.debt = math.max(bucket.debt, debt)
end

-- Converts a bucket to other units, never in favor of callers: debts are rounded up, refundable debts down.
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

-- Returns the allowance for usage far beyond reservations: a bucket of its own, of the model's burst and rate.
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

-- Returns the part of a reported usage that is charged, by the rule of OverrunAllowance.java. One settlement charges at
-- most the usage that a call of the model can have; usage beyond twice the reservation comes out of the allowance,
-- which is charged four tokens for each token and may be overdrawn by one settlement.
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

-- Returns the budget of a tenant; nil if it has none.
local function budgetOf(tenant)
  local own = C.tenants and get('b' .. tenant)
  return own and cmsgpack.unpack(own) or C.others
end

local function weightOf(tenant)
  local budget = budgetOf(tenant)
  return budget and budget.weight or 1
end

-- Returns the bucket of a tenant; nil if it has no budget. If nothing else changes, accrual is not written: the next
-- call computes the same.
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
        -- The rate has changed at that time.
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
      -- Its level at that time is unknown.
      raiseDebt(bucket, debtAfter(bucket, bucket.cap * bucket.unit, S.emptied, now))
    end
    tenantBuckets[tenant] = bucket
  end
  return bucket
end

-- ---- granted tokens, counted apart from the buckets

local function perSecond()
  return C.mint * 10 ^ 6 / C.unit
end

-- Counts tokens that were granted at a time; a negative number subtracts unused tokens of such a grant. So a refund
-- lowers the windows that had the grant, and hides no later grant. The count has the limit of its time, so that a later
-- change of the limit makes no excess. Usage beyond a reservation was not granted, and is not counted.
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

-- Returns the excess of the worst window of whole seconds in the last `seconds`: its tokens above the burst and the
-- accrual of the window, by the largest limit of that time. The worst excess is stored, so `seconds` needs to cover
-- only those that may have changed since the last call.
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
