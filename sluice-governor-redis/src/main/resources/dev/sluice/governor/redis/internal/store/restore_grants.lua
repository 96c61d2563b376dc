-- Restores grants that this node has delivered, and that this state has not made or has ended: they get slots and the
-- full timeout again. Their charges are not refunded. ARGV: node, then for each: id, tokens, tokens asked for, class,
-- tenant, idempotency key or ''. Answers {number of grants}; in short, without reading the rest of the state, if there
-- are none.
if #ARGV == 1 then
  local stored = redis.call('HGET', STATE, 's')
  if stored and struct.unpack('>d', stored, 8 * #NAMES - 7) == KNOWN_GENERATION then
    return { server, 0 }
  end
  return { 0 }
end
if not open(server, {}) then
  return { 0 }
end
local count = 0
for at = 2, #ARGV, 6 do
  local id = ARGV[at]
  count = count + 1
  if get('r' .. id) then
    setDue('r' .. id, now + C.life)
  elseif not restore({
    id = id, tokens = tonumber(ARGV[at + 1]), asked = tonumber(ARGV[at + 2]), class = ARGV[at + 3],
    tenant = ARGV[at + 4], key = ARGV[at + 5]
  }) then
    notifyEnded(id)
  end
end
return answer({ count })
