-- The rules of the fleet, a hash whose field "@version" counts its changes. KEYS: rules.
-- "@base" is the version that a node knew when it restored them. A node that knows a later one
-- restores them again, unless they have been changed since.
-- ARGV: "read", or "set" field value, or "remove" field,
--       or "restore" version field value field value ... after Redis has lost them.
-- Versions are times: so they grow also where all that was known was lost.
-- Answers {version, 1 if something changed, version before, field, value, field, value ...}; the
-- fields by "read".
local VERSION, BASE = '@version', '@base'
local changed = 0
local version = tonumber(redis.call('HGET', KEYS[1], VERSION) or 0) or 0
local before = version

if ARGV[1] == 'set' then
  if redis.call('HGET', KEYS[1], ARGV[2]) ~= ARGV[3] then
    redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
    changed = 1
  end
elseif ARGV[1] == 'remove' then
  changed = redis.call('HDEL', KEYS[1], ARGV[2])
elseif ARGV[1] == 'restore' then
  local known = tonumber(ARGV[2])
  local base = tonumber(redis.call('HGET', KEYS[1], BASE) or 0) or 0
  local toldLess = base > 0 and base < known and version == base + 1
  if version < known or toldLess then
    for i = 3, #ARGV, 2 do
      redis.call(toldLess and 'HSET' or 'HSETNX', KEYS[1], ARGV[i], ARGV[i + 1])
    end
    redis.call('HSET', KEYS[1], BASE, string.format('%.0f', known))
    version, changed = known + 1, 1
  end
end

if changed == 1 then
  if ARGV[1] ~= 'restore' then
    version = math.max(version + 1, now)
  end
  redis.call('HSET', KEYS[1], VERSION, string.format('%.0f', version))
end
local answer = {version, changed, before}
if ARGV[1] == 'read' then
  for _, each in ipairs(redis.call('HGETALL', KEYS[1])) do
    answer[#answer + 1] = each
  end
end
return answer
