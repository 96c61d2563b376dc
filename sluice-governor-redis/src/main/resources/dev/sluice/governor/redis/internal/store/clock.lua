-- The time of this server. From here on, `now` is the time of the model state.
local server = now

-- The time since which no member has been absent (guard.lua), and the part of every limit that belongs to present
-- members.
local PRESENT = presentSince()
local PRESENT_PARTS = PARTS - (PRESENT == NOT_YET and string.match(absences, ':(%d+)$') or 0)
local PRESENT_PART = math.max(0.001, PRESENT_PARTS / PARTS)

-- Length of the ring of fields that count the tokens of one second each; OutageGrantCounter.java counts for as long.
-- Earlier grants of an outage are not compared.
local COUNTED_SECONDS = 1024

local function countField(second)
  return 'u' .. second % COUNTED_SECONDS
end

-- Returns how many reservations Redis may have open at once. An absent member may fill the slots of its share by
-- itself, and they stay reserved until it has reported its open reservations. Without a limit of the model (0), the
-- number is that of ModelLimits.slots: callers that never settle must not fill the memory of Redis.
local function slotsOf(concurrency)
  return concurrency > 0 and math.floor(concurrency * PRESENT_PARTS / PARTS) or 100000
end
