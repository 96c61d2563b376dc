-- The rules of the fleet, a hash whose field "@version" counts its changes. KEYS: rules, told.
-- When Redis has lost them, they begin a new life: "@life" is when. A node that knew another life
-- joins before it changes anything: what it knows is added to what was told in this life.
-- "@base" is the highest version that was added so. A node that knows no more than that adds nothing:
-- what it has besides was removed. `told` has the fields that were set or removed in this life,
-- each with the life, while others may still join: they do not change those.
-- ARGV: "read", or "set" life field value, or "remove" life field,
--       or "join" life version field value field value ...; a life of 0 is not known.
-- Versions are times: so they grow also where all that was known was lost, and one from before a
-- life belongs to another.
-- Answers {version, 1 if something changed or -1 if the node has to join, version before, life,
-- field, value, field, value ...}; the fields by "read".
local VERSION, LIFE, BASE = '@version', '@life', '@base'
local JOIN_MICROS = 3600000000
local what = ARGV[1]
local changed = 0

local function whole(text)
  return tonumber(string.match(text or '', '^%d+$') or 0)
end

local function text(number)
  return string.format('%.0f', number)
end

local head = redis.call('HMGET', KEYS[1], VERSION, LIFE, BASE)
local version, life, base = whole(head[1]), whole(head[2]), whole(head[3])
local before = version

local function begin()
  if life == 0 then
    life = now
    redis.call('HSET', KEYS[1], LIFE, text(life))
  end
end

local function note(field)
  local left = life + JOIN_MICROS - now
  if life > 0 and left > 0 then
    redis.call('HSET', KEYS[2], field, text(life))
    redis.call('PEXPIRE', KEYS[2], text(math.min(left, JOIN_MICROS) / 1000 + 1))
  end
end

local function pairsOf(list)
  local map = {}
  for i = 1, #list, 2 do
    map[list[i]] = list[i + 1]
  end
  return map
end

-- Whoever joined before knew less: what came from it, and is not known to this node, was removed.
local function forget(told, known)
  for field in pairs(pairsOf(redis.call('HGETALL', KEYS[1]))) do
    if string.sub(field, 1, 1) ~= '@' and told[field] ~= text(life) and not known[field] then
      redis.call('HDEL', KEYS[1], field)
    end
  end
end

local function join(knownLife, knownVersion)
  local isNew = life == 0
  begin()
  -- Of this life, and Redis has gone back: to a replica that had not heard of the last changes.
  local sameLife = not isNew and (knownLife == life or (knownLife == 0 and knownVersion >= life))
  local overwrites = not sameLife and now < life + JOIN_MICROS
  if (sameLife and version >= knownVersion) or (not sameLife and knownVersion <= base) then
    return
  end
  local told = pairsOf(redis.call('HGETALL', KEYS[2]))
  local known = {}
  for i = 4, #ARGV, 2 do
    known[ARGV[i]] = true
    if told[ARGV[i]] ~= text(life) or sameLife then
      redis.call(overwrites and 'HSET' or 'HSETNX', KEYS[1], ARGV[i], ARGV[i + 1])
    end
  end
  if sameLife then
    version = knownVersion + 1
  else
    if overwrites and base > 0 and knownLife > 0 then
      forget(told, known)
    end
    redis.call('HSET', KEYS[1], BASE, text(knownVersion))
    version = math.max(version + 1, knownVersion + 1, now)
  end
  changed = 1
end

if what == 'join' then
  join(tonumber(ARGV[2]), tonumber(ARGV[3]))
elseif what ~= 'read' and ARGV[2] ~= '0' and tonumber(ARGV[2]) ~= life then
  changed = -1
elseif what == 'set' then
  begin()
  note(ARGV[3])
  if redis.call('HGET', KEYS[1], ARGV[3]) ~= ARGV[4] then
    redis.call('HSET', KEYS[1], ARGV[3], ARGV[4])
    changed = 1
  end
elseif what == 'remove' then
  note(ARGV[3])
  changed = redis.call('HDEL', KEYS[1], ARGV[3])
end

if changed == 1 then
  if what ~= 'join' then
    version = math.max(version + 1, now)
  end
  redis.call('HSET', KEYS[1], VERSION, text(version))
end
local answer = {version, changed, before, life}
if what == 'read' then
  for _, each in ipairs(redis.call('HGETALL', KEYS[1])) do
    answer[#answer + 1] = each
  end
end
return answer
