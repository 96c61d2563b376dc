-- Says that a node is alive. KEYS: nodes, rules. ARGV: node, microseconds until it counts as dead.
-- Answers {live nodes, version of the rules, time}.
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - ARGV[2]))
-- From a server whose clock ran ahead.
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + ARGV[2]), '+inf')
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ARGV[2] / 1000 + 1))
return {redis.call('ZCARD', KEYS[1]), tonumber(redis.call('HGET', KEYS[2], '@version') or 0), now}
