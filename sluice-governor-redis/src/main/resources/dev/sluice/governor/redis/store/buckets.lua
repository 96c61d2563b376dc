-- Tokens that accrue evenly, kept as what is owed to a full bucket: a token is worth `unit`, and a
-- microsecond brings `accrual`. The history of a meter has what was owed at each charge, so that no
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

-- Returns the debt at `to` of a meter that had the debt `owed` at `from`, in the time of the model state. The part of absent
-- members is not paid here, and the tokens that they can have saved are held back: the rule is `repay` in guard.lua. Returns also,
-- if a member was absent since, the most that may be refunded of earlier charges.
local function paid(meter, owed, from, to)
  local accrual, capacity = meter.accrual, meter.cap * meter.unit
  if from - S.shift >= PRESENT then
    local elapsed = math.max(0, to - from)
    return elapsed < owed / accrual and math.max(0, owed - elapsed * accrual) or 0
  end
  if S.shift ~= 0 and PRESENT == NOT_YET then
    -- The clock was set back, so it is not known since when: nothing comes back until they return.
    local all = absencePeriods()
    local saved = math.ceil(capacity * all[#all].share)
    return math.max(owed, saved), owed - saved
  end
  return repay({ accrual = accrual, step = 1, capacity = capacity }, owed, 0, from - S.shift, to - S.shift)
end

-- Returns what a meter owes of which the books know nothing.
local function owedByUnknown(meter)
  return (debtOfMissing({ accrual = meter.accrual, step = 1, capacity = meter.cap * meter.unit }))
end

local function available(meter)
  return floorDiv(meter.cap * meter.unit - meter.owed, meter.unit)
end

-- Until so many tokens can be taken and `floor` are left, if nobody takes any; 0 if it is so now.
local function microsUntil(meter, tokens, floor)
  local missing = tokens * meter.unit - ((meter.cap - floor) * meter.unit - meter.owed)
  if missing <= 0 then
    return 0
  end
  return math.min(NEVER, PRESENT_PART == 1 and ceilDiv(missing, meter.accrual)
    or math.ceil(missing / (meter.accrual * PRESENT_PART)))
end

-- In a block, for a script may have 200 locals at a time.
local historyOf, charge, refund, overcharge, pay, raise, rescale
do
local ENTRY, LONGEST_HISTORY = 16, 128 * 16

historyOf = function(meter)
  if not meter.history then
    meter.history = get(meter.field) or ''
  end
  return meter.history
end

-- Neighbours become one with the smaller figure, which errs on the side of those who gave tokens.
local function halved(history)
  local entries = {}
  for at = 1, #history - ENTRY, 2 * ENTRY do
    local _, owed = struct.unpack('>dd', history, at)
    local event = struct.unpack('>d', history, at + ENTRY)
    entries[#entries + 1] = struct.pack('>dd', event, owed)
  end
  return table.concat(entries)
end

-- Notes that refunds of what was charged until now are no more than `most`; returns the event that follows.
local function record(meter, most)
  local history = historyOf(meter)
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
  meter.history = history .. struct.pack('>dd', event, most)
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
charge = function(meter, tokens)
  local event = record(meter, meter.owed)
  meter.owed = meter.owed + tokens * meter.unit
  meter.changed = true
  return event
end

-- It turns out that so much less was charged just before that event.
local function correct(meter, event, less)
  local history = historyOf(meter)
  local first = indexOf(history, event)
  if first > #history then
    return
  end
  local later = {}
  for at = first, #history, ENTRY do
    local each, owed = struct.unpack('>dd', history, at)
    later[#later + 1] = struct.pack('>dd', each, owed - less)
  end
  local _, least = struct.unpack('>dd', later[1])
  local kept = first - 1
  while kept > 0 and struct.unpack('>d', history, kept - 7) >= least do
    kept = kept - ENTRY
  end
  meter.history = string.sub(history, 1, kept) .. table.concat(later)
end

-- Gives back whole tokens of a charge, and says how many.
refund = function(meter, tokens, event)
  local history = historyOf(meter)
  local first = indexOf(history, event)
  local stillOwed = meter.owed
  if first <= #history then
    local _, least = struct.unpack('>dd', history, first)
    stillOwed = math.min(stillOwed, least)
  end
  local refunded = floorDiv(math.min(tokens * meter.unit, stillOwed), meter.unit)
  if refunded > 0 then
    meter.owed = meter.owed - refunded * meter.unit
    correct(meter, event, refunded * meter.unit)
    meter.changed = true
  end
  return refunded
end

-- Charges what was used beyond an earlier charge, but no more whole tokens than let it owe twice its
-- capacity, and says how many.
overcharge = function(meter, tokens)
  local most = floorDiv(math.max(0, 2 * meter.cap * meter.unit - meter.owed), meter.unit)
  local charged = math.min(most, tokens)
  record(meter, meter.owed)
  meter.owed = meter.owed + charged * meter.unit
  meter.changed = true
  return charged
end

-- Has time pay what a meter with a history owes.
pay = function(meter, from, to)
  local owed, most = paid(meter, meter.owed, from, to)
  meter.owed = owed
  if most then
    record(meter, math.max(0, most))
  end
end

-- Has a meter owe at least so much, of which no refund gives anything back: nobody was granted it.
raise = function(meter, owed)
  record(meter, math.max(0, meter.owed - owed))
  meter.owed = math.max(meter.owed, owed)
end

-- In other units. Never in favour of those who take: debts are rounded up, what can be refunded down.
rescale = function(meter, unit)
  local old = meter.unit
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
  local entries, history = {}, historyOf(meter)
  for at = 1, #history, ENTRY do
    local event, owed = struct.unpack('>dd', history, at)
    entries[#entries + 1] = struct.pack('>dd', event, scaled(owed, false))
  end
  meter.history = table.concat(entries)
  meter.owed = scaled(meter.owed, true)
  meter.unit = unit
  meter.changed = true
end

end

-- ---- the meters of this model

local M
local meters = {}
local requests = {}

local function loadMeters()
  M = { cap = S.cap, unit = S.unit, accrual = C.mint, owed = S.owed, field = 'h' }
  for i, rate in ipairs(C.requests) do
    requests[i] =
      { cap = rate.cap, unit = rate.unit, accrual = rate.mint, owed = S[rate.name], name = rate.name }
  end
  for rank, class in ipairs(C.classes) do
    if class.g then
      R[rank - 1].meter = {
        cap = class.g.cap, unit = class.g.unit, accrual = class.g.mint,
        owed = R[rank - 1].guaranteed, field = 'g' .. (rank - 1)
      }
    end
  end
end

local function advance()
  local from = S.at
  S.at = now
  if now > from then
    pay(M, from, now)
    for _, each in ipairs(requests) do
      each.owed = paid(each, each.owed, from, now)
    end
    for rank = 0, #C.classes - 1 do
      local meter = R[rank].meter
      if meter then
        pay(meter, from, now)
      end
    end
  end
end

local function writeMeters()
  local function writeHistory(meter)
    if meter.history and meter.history ~= (get(meter.field) or '') then
      put(meter.field, meter.history)
    end
  end
  S.owed, S.unit, S.cap = M.owed, M.unit, M.cap
  writeHistory(M)
  for _, each in ipairs(requests) do
    S[each.name] = each.owed
  end
  for rank = 0, #C.classes - 1 do
    local meter = R[rank].meter
    if meter then
      R[rank].guaranteed = meter.owed
      writeHistory(meter)
    end
  end
  for tenant, meter in pairs(meters) do
    if meter.changed then
      put('m' .. tenant, struct.pack('>ddd', now, meter.owed, meter.unit) .. historyOf(meter))
      setDue('m' .. tenant, now + ceilDiv(meter.owed, meter.accrual) + 1)
    end
  end
end

-- The allowance for usage far beyond reservations, a meter of the model's burst and rate by itself.
local function allowanceOf(config)
  local meter = { cap = config.cap, unit = config.unit, accrual = config.mint, owed = 0, history = '' }
  local stored = get('v')
  if stored then
    local at, owed, unit = struct.unpack('>ddd', stored)
    meter.owed, meter.unit = owed, unit
    rescale(meter, config.unit)
    meter.owed = paid(meter, meter.owed, at, now)
  end
  return meter
end

local function putAllowance(meter)
  put('v', struct.pack('>ddd', now, meter.owed, meter.unit))
end

-- Returns how much of a reported usage is charged, by the rule of OverrunAllowance.java. One settlement charges at
-- most what a call of the model can use; usage beyond twice the reservation comes out of an allowance, which is
-- charged four tokens for each token and may be overdrawn by one settlement.
local function chargeable(reserved, reported)
  local charged = math.min(reported, math.max(reserved, C.most or C.cap))
  if charged > 2 * reserved then
    local meter = allowanceOf(C)
    if available(meter) <= 0 then
      return 2 * reserved
    end
    meter.owed = meter.owed + 4 * (charged - 2 * reserved) * meter.unit
    putAllowance(meter)
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

-- Returns the meter of a tenant; none if it has no budget. Debt that time has paid is not written if nothing else changes:
-- the next call finds the same.
local function meterOf(tenant)
  local meter = meters[tenant]
  local budget = not meter and budgetOf(tenant)
  if budget then
    meter = { cap = budget.cap, unit = budget.unit, accrual = budget.mint, owed = 0, history = '' }
    local stored = get('m' .. tenant)
    local at = 0
    if stored then
      local owed, unit
      at, owed, unit = struct.unpack('>ddd', stored)
      meter.owed, meter.unit, meter.history = owed, unit, string.sub(stored, 25)
      if at < (budget.since or 0) then
        -- Until then it accrued at another rate.
        rescale(meter, budget.before.unit)
        meter.accrual = budget.before.mint
        pay(meter, at, budget.since)
        meter.accrual, at = budget.mint, budget.since
      end
      rescale(meter, budget.unit)
      pay(meter, at, now)
    else
      raise(meter, owedByUnknown(meter))
    end
    if at < S.emptied then
      -- Nobody knows what it had left then.
      raise(meter, paid(meter, meter.cap * meter.unit, S.emptied, now))
    end
    meters[tenant] = meter
  end
  return meter
end

-- ---- the count of what is granted, apart from the meters

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
  local stored = redis.call('HMGET', BOOKS, unpack(fields))
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
