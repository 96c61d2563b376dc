-- Grants, queues or denies a request, over all dimensions at once.
-- ARGV: node, id, mode ("queue": queue a request that cannot be granted; "now": do not; "find": only find an earlier
-- request), tenant, class, tokens to reserve, tokens asked for, microseconds until the deadline or 0, idempotency key
-- or '', 'fast' if request_fast.lua was tried.
-- Answers {'g' …}, {'q' …} or {'r' …} as `claim`, then 1 for a new request; {'x', tokens, class} if the key is of
-- another request; {'k', class …}, the known classes, if there is no such class; {'n'} if nothing happened.
local function decideRequest()
  local id, mode, tenant, class, key = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[9]
  if key ~= '' then
    local other = get(keyField(tenant, key))
    local ticket = other and ticketOf(other)
    if ticket then
      if ticket.asked ~= tonumber(ARGV[7]) or ticket.class ~= class then
        return { 'x', ticket.asked, ticket.class }
      end
      return claim(ticket)
    end
  end
  if mode == 'find' then
    return { 'n' }
  end
  local index = classIndexOf(class)
  if not index then
    return unknownClass()
  end
  local deadline = tonumber(ARGV[8])
  local ticket = {
    id = id, state = 'w', rank = index, tokens = tonumber(ARGV[6]), asked = tonumber(ARGV[7]),
    class = class, tenant = tenant, since = now, deadline = deadline > 0 and now + deadline or 0,
    key = key, node = '', asker = NODE, claimed = 0, unheard = '', reason = '', left = 0, number = 0, tag = 0,
    weight = C.tenants and weightOf(tenant) or C.others and C.others.weight or 1
  }
  local most = largest(index, tenant)
  if ticket.tokens <= most then
    if S.waiting > 0 then
      drain(granted)
    else
      countRefill()
    end
    if not wouldHold(ticket) then
      if classState[index].size > 0 then
        -- The next turn of its tenant is later by this.
        local turn, tag = turnOf(index, tenant), startOf(index, tenant)
        classState[index].time = math.max(classState[index].time, tag)
        turn.finish = tag + ticket.tokens / ticket.weight
      end
      reserve(ticket, key ~= '')
      ticket.state, ticket.claimed, ticket.left = 'g', 1, S.left
      if key ~= '' then
        ticket.changed = true
        tickets[id] = ticket
        put(keyField(tenant, key), id)
      end
      S.total, S.accepted = S.total + 1, S.accepted + 1
      if S.waiting > 0 then
        -- Waiters may wait for something else now, such as the slot that it took.
        drain(granted)
      end
      return grantReply(ticket)
    end
  end
  if mode == 'now' then
    return { 'n' }
  end
  S.total = S.total + 1
  if ticket.tokens > most then
    return { 'r', id, ticket.asked, ticket.class, available(modelBucket), 'EXCEEDS_CAPACITY', most, ticket.tokens }
  end
  if isFullFor(tenant) then
    return { 'r', id, ticket.asked, ticket.class, available(modelBucket), 'LINE_FULL', C.maxLine, ticket.tokens }
  end
  tickets[id] = ticket
  ticket.changed = true
  if key ~= '' then
    put(keyField(tenant, key), id)
  end
  enter(ticket)
  if ticket.deadline > 0 then
    setDue('d' .. id, ticket.deadline)
  end
  drain(granted)
  return claim(ticket)
end

if not open(server, { 'm' .. ARGV[4], 'b' .. ARGV[4], 'l' .. ARGV[4], keyField(ARGV[4], ARGV[9]) }) then
  return { 0 }
end
local before = S.total
local result = decideRequest()
local reply = answer(result)
reply[6] = S.total - before
return reply
