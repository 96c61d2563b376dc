-- The time of this server. From here on, `now` is the time of the model state.
local server = now

-- Since when no member has been absent (guard.lua), and how much of every limit belongs to members that are present.
local PRESENT = presentSince()
local PRESENT_PARTS = PARTS - (PRESENT == NOT_YET and string.match(absences, ':(%d+)$') or 0)
local PRESENT_PART = math.max(0.001, PRESENT_PARTS / PARTS)

-- The name of the field that counts the tokens of a second; the fields are a ring of so many seconds, which is as long
-- as OutageGrantCounter.java counts. Grants of an outage from longer ago are not compared.
local COUNTED_SECONDS = 1024

local function countField(second)
  return 'u' .. second % COUNTED_SECONDS
end

-- Returns how many reservations may be open here at once. An absent member may fill the slots of its share by itself,
-- and keeps them until it has reported those that are open. Where the model has no limit of its own (0), it is what
-- ModelLimits.slots says, so that callers who never settle cannot fill the memory of Redis.
local function slotsOf(concurrency)
  return concurrency > 0 and math.floor(concurrency * PRESENT_PARTS / PARTS) or 100000
end
