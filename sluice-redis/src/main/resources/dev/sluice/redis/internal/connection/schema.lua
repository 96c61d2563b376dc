
-- Checks that what is stored here has the layout of this version. KEYS: the schema, the members, then keys of which
-- earlier layouts have some. ARGV: the layout of the caller.
-- Answers {1} if earlier layouts have left something and no node was a member since, {0} if not; refuses another
-- layout. A node that dies before it is a member leaves that answer to the next one.
local stored = redis.call('GET', KEYS[1])
if stored and stored ~= ARGV[1] then
  return redis.error_reply('SCHEMA ' .. stored .. ' is stored in Redis, but this version of Sluice needs ' .. ARGV[1])
end
redis.call('SET', KEYS[1], ARGV[1])
if redis.call('HGET', KEYS[2], '@epoch') then
  return { 0 }
end
for i = 3, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    return { 1 }
  end
end
return { 0 }
