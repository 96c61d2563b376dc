-- Operations on tickets. ARGV: node, action, ids ….
--   poll    returns the state of a ticket: {'q' …}, {'g' …}, {'r' …} or {'n'}
--   await   the same, and the node waits for it; then the sequence number: {'o'} if that is outdated
--   claim   the same as await, for callers that wait for the ticket at this node
--   leave   the node stops waiting for a ticket; then the sequence number; with 'undelivered' no caller of the node has
--           its grant: a claim for these callers is undone
--   cancel  removes a ticket from the waiting list, or returns its grant: {1} or {0}
--   tick    after the sequence number, awaited tickets: returns those that are decided or do not exist: {{'g' …}, …,
--           {'n', id}}; the node waits for the others, and need not ask for them meanwhile
--   refuse  denies the first waiters for the reason in ARGV[3]: {number of waiters left}
-- A node numbers its calls about waiters; a ticket stores the last number of each node in `turns`. A call with a lower
-- number is outdated: it was delayed on a connection that broke.
local action = ARGV[2]
local fields = {}
if action ~= 'tick' and action ~= 'refuse' then
  fields[1] = 't' .. ARGV[3]
end
if not open(server, fields) then
  return { 0 }
end

local function isOutdated(ticket, sequence)
  return ticket.turns and (ticket.turns[NODE] or 0) > sequence
end

local function setSequence(ticket, sequence)
  ticket.turns = ticket.turns or {}
  if ticket.turns[NODE] ~= sequence then
    ticket.turns[NODE], ticket.changed = sequence, true
  end
end

local function waitFor(ticket, sequence)
  local node = (ticket.node == '' or ticket.node == NODE) and NODE or SEVERAL
  if ticket.node ~= node then
    ticket.node, ticket.changed = node, true
    setSequence(ticket, sequence)
  end
  restartIdleTimer(ticket)
end

-- The same as `claim`, for waiters of this node, which may have left. A grant that was also delivered at another node
-- cannot become undelivered.
local function claimForWaiters(ticket, sequence)
  local onlyHere = ticket.claimed == 0 or ticket.unheard == NODE
  local result = claim(ticket)
  if ticket.state == 'g' and onlyHere then
    ticket.unheard = NODE
    setSequence(ticket, sequence)
  end
  return result
end

local result = { 'n' }
if action == 'tick' then
  result = {}
  local sequence = tonumber(ARGV[3])
  for i = 4, #ARGV do
    local ticket = ticketOf(ARGV[i])
    if not ticket then
      result[#result + 1] = { 'n', ARGV[i] }
    elseif not isOutdated(ticket, sequence) then
      if ticket.state == 'w' then
        waitFor(ticket, sequence)
      else
        result[#result + 1] = claimForWaiters(ticket, sequence)
      end
    end
  end
elseif action == 'refuse' then
  local all = redis.call('ZRANGE', WAITING, 0, 499)
  for _, member in ipairs(all) do
    local ticket = ticketOf(idIn(member))
    if ticket then
      deny(ticket, ARGV[3])
    end
  end
  result = { S.waiting }
else
  local ticket, sequence = ticketOf(ARGV[3]), tonumber(ARGV[4])
  if not ticket and action == 'cancel' then
    recordEnded(ARGV[3])
    local stored = get('r' .. ARGV[3])
    if stored then
      -- A node restored the grant after its ticket was lost with the data.
      settle(ARGV[3], unpackReservation(stored), 0)
      notifyEnded(ARGV[3])
      drain(granted)
    end
    result = { stored and 1 or 0 }
  elseif not ticket then
    result = { 'n' }
  elseif action == 'cancel' then
    local stored = get('r' .. ticket.id)
    if mayBeGrantedElsewhere(ticket) or (stored and isRestored(unpackReservation(stored))) then
      recordEnded(ticket.id)
    end
    deny(ticket, 'CANCELLED')
    returnGrant(ticket)
    drain(granted)
    result = { 1 }
  elseif action == 'poll' then
    result = claim(ticket)
  elseif isOutdated(ticket, sequence) then
    result = { 'o' }
  elseif action == 'claim' then
    result = claimForWaiters(ticket, sequence)
  elseif action == 'await' then
    setSequence(ticket, sequence)
    if ticket.state == 'w' then
      waitFor(ticket, sequence)
      result = claim(ticket)
    else
      result = claimForWaiters(ticket, sequence)
    end
  else
    setSequence(ticket, sequence)
    if ticket.state == 'w' and (ticket.node == NODE or ticket.node == SEVERAL) then
      -- Of several nodes the others may still wait for it.
      ticket.node = ticket.node == NODE and '' or SEVERAL
      restartIdleTimer(ticket)
    elseif ARGV[5] == 'undelivered' and ticket.state == 'g' and ticket.claimed == 1 and ticket.unheard == NODE then
      ticket.claimed, ticket.unheard = 0, ''
      restartIdleTimer(ticket)
    end
  end
end
return answer(result)
