-- The time of this server. What is called `now` from here on is that of the books.
local server = now

-- Since when no member has been absent (guard.lua), and how much of every limit belongs to members that are present.
local PRESENT = presentSince()
local PRESENT_PART = 1
if PRESENT == NOT_YET then
  local all = absencePeriods()
  PRESENT_PART = math.max(0.001, 1 - all[#all].share)
end

-- The name of the field that counts the tokens of a second; the fields are a ring of so many seconds.
local COUNTED_SECONDS = 128

local function countField(second)
  return 'u' .. second % COUNTED_SECONDS
end

-- Returns how many reservations may be open at once: where the model has no limit of its own (0), as many as
-- ModelLimits.slots says, so that callers who never settle cannot fill the memory of Redis.
local function slotsOf(concurrency)
  return concurrency > 0 and concurrency or 100000
end
