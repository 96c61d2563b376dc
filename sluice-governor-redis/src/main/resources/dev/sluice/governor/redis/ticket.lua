-- What is done with tickets. ARGV: node, what, ids ….
--   poll    how one stands: {'q' …}, {'g' …}, {'r' …} or {'n'}
--   await   the same, and this node waits for it
--   leave   this node does not wait for it any longer
--   cancel  it leaves the line, or what was granted is given back: {1} or {0}
--   tick    those of this node's that are decided or gone: {{'g' …}, …, {'n', id}}; the others are
--           waited for, and need not be asked for meanwhile
--   refuse  the first of those in line, for the reason in ARGV[3]: {how many are left}
local what = ARGV[2]
local fields = {}
if what == 'poll' or what == 'await' or what == 'cancel' then
  fields[1] = 't' .. ARGV[3]
end
if not open(server, fields) then
  return { 0 }
end

local function waitFor(ticket)
  ticket.node = NODE
  ticket.changed = true
  watch(ticket)
end

local result = { 'n' }
if what == 'tick' then
  result = {}
  for i = 3, #ARGV do
    local ticket = ticketOf(ARGV[i])
    if not ticket then
      result[#result + 1] = { 'n', ARGV[i] }
    elseif ticket.state == 'w' then
      waitFor(ticket)
    else
      result[#result + 1] = seen(ticket)
    end
  end
elseif what == 'refuse' then
  local all = redis.call('ZRANGE', LINE, 0, 499)
  for _, member in ipairs(all) do
    local ticket = ticketOf(idIn(member))
    if ticket then
      giveUp(ticket, ARGV[3])
    end
  end
  result = { S.waiting }
else
  local ticket = ticketOf(ARGV[3])
  if not ticket then
    result = what == 'cancel' and { 0 } or { 'n' }
  elseif what == 'cancel' then
    giveUp(ticket, 'CANCELLED')
    giveBack(ticket)
    drain(granted)
    result = { 1 }
  elseif what == 'leave' then
    if ticket.node == NODE and ticket.state == 'w' then
      ticket.node = ''
      ticket.changed = true
      watch(ticket)
    end
  else
    if what == 'await' and ticket.state == 'w' then
      waitFor(ticket)
    end
    result = seen(ticket)
  end
end
return answer(result)
