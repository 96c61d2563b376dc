-- The books of one model, and how they are read and written.
--
-- KEYS, all in one slot:
--   books   a hash: 'c' the configuration, 'q' and 'n<class>' what the quick ways need of it, 's' the
--           state, 'h' the history of the model's debt, 'g<rank>' of a guarantee's, 'm<tenant>' the bucket of a tenant, 'b<tenant>' its budget,
--           'o' the names of tenants with a budget, 'p' the factor that each node has found, 'v' the
--           allowance for usage beyond reservations, 'e' since when the model cannot serve the head of
--           the line, and what that needs, 'l<tenant>' how many places in line a tenant has,
--           'r<id>' a reservation, 't<id>' a ticket, 'i<length>:<tenant><key>' the id that an
--           idempotency key stands for, 'f<node>' the number of the last report of a node that was without
--           Redis, 'u<second % 1024>' the tokens that were granted in a second, 'w' the largest excess that
--           was found by those
--   due     what ends when: 'r<id>' a reservation, 'd<id>' a deadline, 's<id>' the patience with a
--           ticket, 'a<rank>:<tenant>' a tenant that stepped aside comes back, 'm<tenant>' a bucket
--           is full and can be forgotten, 'f<node>' so can a report, 'o' so can `over`
--   line    everyone who waits, of all classes: the first goes first
--   heads   the first of each tenant that is not aside
--   turns   where a tenant's next turn in a class begins
--   fifo    everyone who waits, by class and tenant: the first came first
--   refused tickets that were refused and are remembered, by when that was
--   over    ids that were settled or cancelled, by when that was, if these books did not know them or were told to hold
--           them: a node that was without Redis may tell of them later
-- ARGV[1]: the node that asks, 16 characters, the generation of the books that it knows, and '!' as long as it has not
-- reported what it decided by itself.
--
-- The life of the books:
--   They have a generation, a number that nobody guesses, from when they are made until Redis loses them.
--   They begin full only if nobody who lives has known others: the node that makes them has not, was not
--   without Redis since it began, and no node listens to their news; who listens has known them. A node
--   that has known others, and finds these begun full, empties them, once.
--   They answer only nodes that know their generation. A node that learns of another one first has them
--   hold what it has told of and is not settled: so no slot is given twice. For the others to do so too,
--   books that begin empty grant nothing for a while.
--   What is over ends with the first call after it; but not as soon as Redis is back, if somebody is in
--   line: those who could not be heard meanwhile are heard first.
--
-- Every number is a whole one below 2^53, except tags, which are tokens by weight. Where one becomes
-- text it is by %.0f, or by Redis itself: `..` keeps 14 digits. Times are microseconds.
local STATE, DUE, WAITING, HEADS, TURNS, FIFO, REFUSED, ENDED = unpack(KEYS)
local NODE, KNOWN_GENERATION = string.sub(ARGV[1], 1, 16), tonumber(string.match(ARGV[1], '^%d+', 17)) or 0
local UNREPORTED = string.sub(ARGV[1], -1) == '!'
local NEVER = 2 ^ 53
-- By then a node does not send a report again: a day.
local FENCE_LIFE = 24 * 3600 * 10 ^ 6
-- By then nodes have found that Redis is back, have told what was extended meanwhile, and have asked for
-- whoever waits there.
local GRACE = 3 * 10 ^ 6
-- Nodes with somebody in line look once a second: if nobody was heard for longer, Redis was away.
local MAX_SILENCE = 1.5 * 10 ^ 6
-- At most so much is ended in one call.
local EXPIRED_AT_ONCE = 100

-- What is read comes from the cache; what is written goes to Redis at the end, in one call.
local cache, written, dropped = {}, {}, {}

local function get(field)
  local value = cache[field]
  if value == nil then
    value = redis.call('HGET', STATE, field)
    cache[field] = value
  end
  return value
end

local function put(field, value)
  cache[field] = value
  written[field] = value
end

local function drop(field)
  cache[field] = false
  written[field] = nil
  dropped[#dropped + 1] = field
end

local function prefetch(fields)
  local values = redis.call('HMGET', STATE, unpack(fields))
  for i, field in ipairs(fields) do
    cache[field] = values[i]
  end
end

-- The configuration, the state and the classes' part of it.
local C, S, classState
local now

local NAMES = {
  'at', 'shift', 'debt', 'unit', 'cap', 'factor', 'paused', 'running', 'waiting', 'due', 'numbers',
  'events', 'total', 'accepted', 'consumed', 'refills', 'left', 'refilled', 'wake', 'turns', 'grace',
  'emptied', 'second', 'minute',
  -- The last: restore_grants.lua and the quick ways know its place.
  'generation'
}
local FIELDS_PER_CLASS = 5

local function readState(text)
  local values = { struct.unpack('>' .. string.rep('d', #text / 8), text) }
  S, classState = {}, {}
  for i, name in ipairs(NAMES) do
    S[name] = values[i]
  end
  local at = #NAMES
  for index = 0, #C.classes - 1 do
    classState[index] = {
      time = values[at + 1], size = values[at + 2], tokens = values[at + 3],
      minimumShareDebt = values[at + 4], epoch = values[at + 5]
    }
    at = at + FIELDS_PER_CLASS
  end
end

local function writeState()
  local values = {}
  for i, name in ipairs(NAMES) do
    values[i] = S[name]
  end
  local at = #NAMES
  for index = 0, #C.classes - 1 do
    local each = classState[index]
    values[at + 1], values[at + 2], values[at + 3] = each.time, each.size, each.tokens
    values[at + 4], values[at + 5] = each.minimumShareDebt, each.epoch
    at = at + FIELDS_PER_CLASS
  end
  put('s', struct.pack('>' .. string.rep('d', at), unpack(values)))
end

-- Time never goes back: after a step of the server's clock it goes on from where it was, until that
-- clock has caught up. So a step back and forth again brings no tokens.
local function setClock(server)
  if server >= S.at then
    S.shift = 0
  elseif server + S.shift < S.at then
    S.shift = S.at - server
  end
  now = server + S.shift
end

-- What is due when, written at the end.
local dueAt, dueChanged, dueRemoved = {}, false, {}

local function setDue(member, at)
  dueAt[member] = at
  dueChanged = true
  S.due = math.min(S.due, at)
end

local function dropDue(member)
  dueAt[member] = nil
  dueRemoved[#dueRemoved + 1] = member
end

-- A reservation: what was charged and where, the class and the tenant.
local function packReservation(each)
  return struct.pack('>ddddddddd', each.tokens, each.asked, each.rank, each.at, each.event, each.tenantEvent,
    each.fromMinimumShare, each.minimumShareEvent, each.ticket)
    .. struct.pack('>I2', #each.class) .. each.class .. each.tenant
end

local function unpackReservation(stored)
  local each = {}
  local length
  each.tokens, each.asked, each.rank, each.at, each.event, each.tenantEvent,
    each.fromMinimumShare, each.minimumShareEvent, each.ticket, length = struct.unpack('>dddddddddI2', stored)
  each.class, each.tenant = string.sub(stored, 75, 74 + length), string.sub(stored, 75 + length)
  return each
end

-- In portions: a call takes only so many words.
local function inPortions(command, key, arguments)
  for from = 1, #arguments, 1000 do
    redis.call(command, key, unpack(arguments, from, math.min(from + 999, #arguments)))
  end
end

local function writeDue()
  if #dueRemoved > 0 then
    inPortions('ZREM', DUE, dueRemoved)
  end
  if dueChanged then
    local arguments = {}
    for member, at in pairs(dueAt) do
      arguments[#arguments + 1] = at
      arguments[#arguments + 1] = member
    end
    if #arguments > 0 then
      inPortions('ZADD', DUE, arguments)
    end
  end
end

local function writeFields()
  if #dropped > 0 then
    inPortions('HDEL', STATE, dropped)
  end
  local arguments = {}
  for field, value in pairs(written) do
    arguments[#arguments + 1] = field
    arguments[#arguments + 1] = value
  end
  if #arguments > 0 then
    inPortions('HSET', STATE, arguments)
  end
end
