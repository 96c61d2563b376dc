-- What is done with tickets. ARGV: node, what, ids ….
--   poll    how one stands: {'q' …}, {'g' …}, {'r' …} or {'n'}
--   await   the same, and this node waits for it; then the turn: or {'o'} if that is over
--   claim   the same as await, for those who wait for it at this node
--   leave   this node does not wait for it any longer; then the turn; with 'undelivered', and was not told of a grant: what
--           was claimed for it meanwhile is unclaimed
--   cancel  it leaves the line, or what was granted is given back: {1} or {0}
--   tick    after the turn, those of this node's that are decided or gone: {{'g' …}, …, {'n', id}}; the others are
--           waited for, and need not be asked for meanwhile
--   refuse  the first of those in line, for the reason in ARGV[3]: {how many are left}
-- A node numbers by turns what it says of its waiters; a ticket keeps the last turn of each node. What comes after a later
-- turn of the same node is out of date: it was on its way over a connection that broke.
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

-- The same as `seen`, for those who wait for it here: they may have gone. If those of another node
-- were told as well, nobody can say that all have.
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
      -- A node had the grant held again after its ticket was lost with the data.
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
      -- Of several the others may wait for it still.
      ticket.node = ticket.node == NODE and '' or SEVERAL
      restartIdleTimer(ticket)
    elseif ARGV[5] == 'undelivered' and ticket.state == 'g' and ticket.claimed == 1 and ticket.unheard == NODE then
      ticket.claimed, ticket.unheard = 0, ''
      restartIdleTimer(ticket)
    end
  end
end
return answer(result)
