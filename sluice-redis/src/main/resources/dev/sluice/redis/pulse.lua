-- Says that a node is alive. KEYS: nodes, rules. ARGV: node, microseconds until it counts as dead.
-- Answers {live nodes, version of the rules, time, version they were restored from}.
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - ARGV[2]))
-- From a server whose clock ran ahead.
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + ARGV[2]), '+inf')
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ARGV[2] / 1000 + 1))
local rules = redis.call('HMGET', KEYS[2], '@version', '@base')
return {redis.call('ZCARD', KEYS[1]), tonumber(rules[1] or 0) or 0, now, tonumber(rules[2] or 0) or 0}
