-- The time of this server. What is called `now` from here on is that of the books.
local server = now

-- Returns how many reservations may be open at once: where the model has no limit of its own (0), as many as
-- ModelLimits.slots says, so that callers who never settle cannot fill the memory of Redis.
local function slotsOf(concurrency)
  return concurrency > 0 and concurrency or 100000
end
