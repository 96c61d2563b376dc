-- The state of one model, and how it is read and written.
--
-- KEYS, all in one slot. The names of keys, of fields and inside packed values are stored: other names would need a new
-- layout (ModelKeys.java).
--   books   STATE, a hash: 'c' the configuration, 'q' and 'n<class>' the part of it that the fast scripts read, 's' the
--           state, 'h' the history of the model's debt, 'g<index>' that of the minimum share of a class, 'm<tenant>'
--           the bucket of a tenant, 'b<tenant>' its budget, 'o' the names of tenants with a budget, 'p' the factor that
--           each node has found, 'v' the allowance for usage beyond reservations, 'e' the start of a shortage of the
--           model and the need of the first waiter, 'l<tenant>' the number of waiters of a tenant, 'r<id>' a
--           reservation, 't<id>' a ticket, 'i<length>:<tenant><key>' the id under an idempotency key, 'f<node>' the
--           number of the last report of a node about an outage, 'u<second % 1024>' the tokens that were granted in a
--           second, 'w' the largest excess that these counts have shown
--   due     DUE, expirations by time: 'r<id>' of a reservation, 'd<id>' of a maximum wait, 's<id>' of the idle timeout
--           of a ticket, 'a<index>:<tenant>' of the time for which a tenant is set aside, 'm<tenant>' the time at which
--           a bucket is full and can be forgotten, 'f<node>' and 'o' that at which a report and `over` can be
--   line    WAITING, all waiters of all classes in order
--   heads   HEADS, the first waiter of each tenant that is not set aside
--   turns   TURNS, the start of a tenant's next turn in a class
--   fifo    FIFO, all waiters by class and tenant, in the order of their requests
--   refused REFUSED, denied tickets that are remembered, by the time of the denial
--   over    ENDED, ids that were settled or canceled, by time, if this state did not know them or had restored them: a
--           node that was without Redis may report them later
-- A ticket stores the index of its class as `rank`, and the node whose waiters may have missed its grant as `unheard`;
-- the configuration stores the idle timeout as `patience` and the accrual of a microsecond as `mint`.
-- ARGV[1]: the calling node, 16 characters, the generation of the state that it knows, and '!' as long as it has not
-- reported the decisions that it made without Redis.
--
-- The state has a random generation, from its creation until Redis loses it. It starts full only if no live node has
-- known other state: the node that creates it has not and did not start without Redis, and no node listens to its
-- channel, because listeners have known other state. A node that has known other state empties state that started full,
-- once. State answers only nodes that know its generation. Any other node first restores the unsettled grants that it
-- has delivered, so that no slot is granted twice. State that starts empty grants nothing until other nodes have done
-- so. Reservations and tickets expire with the first call after their time. After an outage with waiters they get a
-- grace period, in which nodes report the extensions that Redis has missed.
--
-- Every number is whole and below 2^53, except tags, which are tokens by weight. Numbers are formatted with %.0f, or by
-- Redis itself: `..` keeps 14 digits. Times are in microseconds.
local STATE, DUE, WAITING, HEADS, TURNS, FIFO, REFUSED, ENDED = unpack(KEYS)
local NODE, KNOWN_GENERATION = string.sub(ARGV[1], 1, 16), tonumber(string.match(ARGV[1], '^%d+', 17)) or 0
local UNREPORTED = string.sub(ARGV[1], -1) == '!'
local NEVER = 2 ^ 53
-- A day, after which no node sends the same report again.
local FENCE_LIFE = 24 * 3600 * 10 ^ 6
-- The grace period: by then nodes have found that Redis is back, have reported extensions, and have polled the tickets
-- that are awaited there.
local GRACE = 3 * 10 ^ 6
-- Nodes check a waiting list that is not empty once a second: Redis was unreachable if no call came for longer.
local MAX_SILENCE = 1.5 * 10 ^ 6
-- The most expirations in one call.
local EXPIRED_AT_ONCE = 100

-- Fields are read from the cache, and written to Redis at the end, in one call.
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

-- The configuration, the state, and the state of each class by its index: 0 for the most urgent class.
local C, S, classState
local now

local NAMES = {
  'at', 'shift', 'debt', 'unit', 'cap', 'factor', 'paused', 'running', 'waiting', 'due', 'numbers',
  'events', 'total', 'accepted', 'consumed', 'refills', 'left', 'refilled', 'wake', 'turns', 'grace',
  'emptied', 'second', 'minute',
  -- The last: restore_grants.lua and the fast scripts know its position.
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

-- Time never goes back: if the server's clock is set back, time goes on from its last value until the clock has caught
-- up. So a step back and forth brings no tokens.
local function setClock(server)
  if server >= S.at then
    S.shift = 0
  elseif server + S.shift < S.at then
    S.shift = S.at - server
  end
  now = server + S.shift
end

-- Changes of DUE, written at the end.
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

-- A reservation: its charges, its class and its tenant.
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

-- In portions, because a call takes a limited number of arguments.
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
