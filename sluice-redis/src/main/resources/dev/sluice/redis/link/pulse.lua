-- Says that a node is alive, or that it leaves. KEYS: nodes, rules or none.
-- ARGV: node, microseconds until it counts as dead, microseconds until it is forgotten, "stay" or
-- "leave".
-- Answers {nodes that are not forgotten, version of the rules, time, their life, nodes that live}.
local function at(micros)
  return string.format('(%.0f', micros)
end

if ARGV[4] == 'leave' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at(now - ARGV[3]))
-- From a server whose clock ran ahead.
redis.call('ZREMRANGEBYSCORE', KEYS[1], at(now + ARGV[2]), '+inf')
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ARGV[3] / 1000 + 1))
local rules = KEYS[2] and redis.call('HMGET', KEYS[2], '@version', '@life') or {}
return {
  redis.call('ZCARD', KEYS[1]), tonumber(rules[1] or 0) or 0, now, tonumber(rules[2] or 0) or 0,
  redis.call('ZCOUNT', KEYS[1], at(now - ARGV[2]), '+inf')
}
