
-- Says that a member is alive, and answers how the fleet stands.
--
-- KEYS: the members, then a hash of rules whose version is answered, or none.
-- members is a hash: a member's name → heard, ends, share, absent, claims
--   heard   when its last heartbeat was sent, in the time of this server, at the latest: until heard + PRESENCE it grants
--           nothing by itself, for it waits that long after its last heartbeat
--   ends    when its membership ends, if it is not heard until then
--   share   how many parts of every limit it may believe to have
--   absent  1 if it was not heard in time: it may grant its share by itself, until it returns
--   claims  1 if it grants in an outage at all
-- and '@heard', when anybody was; '@looked', when anybody asked; '@absences', as guard.lua has them; '@epoch', when
-- this hash was made, a number that changes when Redis loses its data; '@emptied', set once the limits were emptied
-- for that reason. After such a loss the member UNKNOWN holds the shares of the members that were forgotten;
-- '@forgotten' is the most that any of them knew all to hold, those that are back included.
-- ARGV: member, what, when it was sent, presence, membership, share that it knows to have, 1 if it claims a share,
--       members that there are at least, epoch that it knows or 0, since when a new member has granted the share
--       that it expected by itself, or 0, shares that all members held when it was heard last
--   stay    it is here; refused if it was counted as absent
--   return  it is here again, or for the first time, and grants nothing by itself from now on
--   leave   it grants nothing any more
--   look    only asks, and finds out whether this server can write; an absent member that asks is alive and may grant
--           its share by itself, so that stays reserved
-- Answers {status, now, valid until, share, absent parts, members, live members, absences, epoch, version of the
-- rules, their life, shares that all members hold}. The answer is valid until another member may become absent.
local PARTS = 720720
local MOST_PERIODS = 8
local OK, ABSENT, EXPIRED = 0, 1, 2
local UNKNOWN = '?'

local MEMBERS = KEYS[1]
local me, what, sent = ARGV[1], ARGV[2], tonumber(ARGV[3])
local presence, membership = tonumber(ARGV[4]), tonumber(ARGV[5])
local held, claims, expected = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local knownEpoch, aloneSince, heldByAll = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])

local members, head = {}, {}
local stored = redis.call('HGETALL', MEMBERS)
for i = 1, #stored, 2 do
  local name, value = stored[i], stored[i + 1]
  if string.sub(name, 1, 1) == '@' then
    head[name] = value
  else
    local member = { name = name, before = value }
    member.heard, member.ends, member.share, member.absent, member.claims = struct.unpack('>ddddd', value)
    members[name] = member
  end
end

local periods = {}
for from, share in string.gmatch(head['@absences'] or '', '(%d+):(%d+)') do
  periods[#periods + 1] = { from = from + 0, share = share + 0 }
end

local function absentParts()
  return #periods > 0 and periods[#periods].share or 0
end

-- Two of many periods become one: the earlier absence is moved up to the next, which only lowers what buckets get.
local function foldFirst()
  local first, second
  for i, period in ipairs(periods) do
    if period.share > 0 and not first then
      first = i
    elseif period.share > 0 and not second then
      second = i
    end
  end
  if not second then
    table.remove(periods, 1)
    return
  end
  local length = periods[first + 1].from - periods[first].from
  periods[second].from = math.max(periods[first].from, periods[second].from - length)
  periods[second].share = math.max(periods[first].share, periods[second].share)
  for _ = 1, second - 1 do
    table.remove(periods, 1)
  end
end

local function changeAbsence(at, by)
  local share = absentParts() + by
  local last = periods[#periods]
  if last and last.from >= at then
    last.share = share
  else
    periods[#periods + 1] = { from = at, share = share }
  end
  while #periods > MOST_PERIODS do
    foldFirst()
  end
end

-- A member was absent from `from` until now, and nobody knew of it.
local function addAbsence(from, share)
  local times = { from }
  for _, period in ipairs(periods) do
    if period.from > from then
      times[#times + 1] = period.from
    end
  end
  local function shareAt(at)
    local found = 0
    for _, period in ipairs(periods) do
      found = period.from <= at and period.share or found
    end
    return found
  end
  local after = {}
  for _, period in ipairs(periods) do
    if period.from < from then
      after[#after + 1] = period
    end
  end
  for _, at in ipairs(times) do
    after[#after + 1] = { from = at, share = math.min(PARTS, shareAt(at) + share) }
  end
  after[#after + 1] = { from = now, share = absentParts() }
  periods = after
  while #periods > MOST_PERIODS do
    foldFirst()
  end
end

-- ---- what has changed since the last heartbeat

-- The clock of this server went back: how long ago a member was heard is not known, so it counts as absent from now on,
-- and what seems to lie ahead was just now.
local lastHeard = tonumber(head['@heard'] or now)
local wentBack = lastHeard > now
if wentBack then
  for _, member in pairs(members) do
    member.heard = math.min(member.heard, now - presence)
    member.ends = math.min(member.ends, now + presence + membership)
  end
  for _, period in ipairs(periods) do
    period.from = math.min(period.from, now)
  end
  lastHeard = now
end

-- Time in which nobody could be heard does not end memberships.
local nobodyHeard = now - lastHeard > presence
if nobodyHeard then
  for _, member in pairs(members) do
    member.ends = member.ends + now - lastHeard
  end
end

local gone = {}
for _, member in pairs(members) do
  if member.absent == 0 and member.heard + presence <= now then
    gone[#gone + 1] = member
  end
end
table.sort(gone, function(one, other) return one.heard < other.heard end)
for _, member in ipairs(gone) do
  member.absent = 1
  if member.share > 0 then
    changeAbsence(member.heard + presence, member.share)
  end
end

local function remove(member)
  if member.absent == 1 and member.share > 0 then
    changeAbsence(now, -member.share)
  end
  members[member.name] = nil
  redis.call('HDEL', MEMBERS, member.name)
end

for _, member in pairs(members) do
  if member.ends <= now and (member.name ~= me or what == 'look') then
    remove(member)
  end
end

local function sharesOfAll()
  local sum = 0
  for _, member in pairs(members) do
    sum = sum + member.share
  end
  return sum
end

-- Redis has lost its data: what was granted until now is not known, so nothing is left of any limit. Members that were
-- forgotten may grant their shares by themselves: these stay reserved until each has returned, or until a membership
-- would have ended.
local epoch = tonumber(head['@epoch'] or 0)
if epoch == 0 then
  epoch = now
end
local isForgotten = knownEpoch > 0 and knownEpoch ~= epoch and not members[me]
if knownEpoch > 0 and knownEpoch ~= epoch and not head['@emptied'] then
  periods = { { from = 0, share = PARTS }, { from = now, share = absentParts() } }
  head['@emptied'] = '1'
  -- Time in which no member is heard does not end the membership of the forgotten ones either: it counts from now on.
  redis.call('HSET', MEMBERS, '@emptied', '1', '@heard', string.format('%.0f', now))
end

-- Reserves what the forgotten members held, as far as this one knows more of them than those that came before it, and
-- as far as it is free. They may have granted it since the loss.
local function reserveForgotten()
  local known = tonumber(head['@forgotten'] or 0)
  local unknown = members[UNKNOWN]
  local ends = unknown and unknown.ends or epoch + presence + membership
  if heldByAll <= known or ends <= now then
    return
  end
  head['@forgotten'] = heldByAll
  redis.call('HSET', MEMBERS, '@forgotten', string.format('%.0f', heldByAll))
  local more = math.min(heldByAll - known, PARTS - sharesOfAll())
  if more <= 0 then
    return
  end
  if not unknown then
    unknown = { name = UNKNOWN, heard = 0, ends = ends, share = 0, absent = 1, claims = 0 }
    members[UNKNOWN] = unknown
  end
  unknown.share = unknown.share + more
  if epoch < now then
    addAbsence(epoch, more)
  end
  changeAbsence(now, more)
end
if isForgotten then
  local unknown = members[UNKNOWN]
  if unknown then
    -- One that asks may grant its share until it is back.
    unknown.ends = math.max(unknown.ends, now + presence + membership)
  end
  reserveForgotten()
end

-- A member that was forgotten is back with its share. Returns how much of that was reserved.
local function remember(share)
  local unknown = members[UNKNOWN]
  local known = unknown and math.min(share, unknown.share) or 0
  if known > 0 then
    changeAbsence(now, -known)
    unknown.share = unknown.share - known
    if unknown.share == 0 then
      remove(unknown)
    end
  end
  return known
end

-- ---- this member

local status = OK
local mine = members[me]
-- A later heartbeat came first, over another connection: what this one says of its member's share is out of date.
local isOvertaken = mine and sent < mine.heard
if what == 'leave' then
  if mine then
    remove(mine)
  end
elseif what ~= 'look' and (now >= sent + presence or sent > now + presence / 50) then
  status = EXPIRED
elseif what == 'stay' and (not mine or mine.absent == 1) then
  status = ABSENT
elseif what ~= 'look' then
  if not mine then
    mine = { name = me, heard = 0, share = isForgotten and remember(held) or 0, absent = 0 }
    members[me] = mine
    if aloneSince > 0 then
      addAbsence(math.min(aloneSince, now - 1), held)
    end
  elseif mine.absent == 1 then
    mine.absent = 0
    if mine.share > 0 then
      changeAbsence(now, -mine.share)
    end
  end
  mine.heard, mine.ends, mine.claims = math.max(mine.heard, sent), now + presence + membership, claims
elseif mine then
  mine.ends = now + presence + membership
end

-- ---- shares

-- A share is as large as its member may believe: one that is told less keeps the larger one here until it says so, and
-- nobody gets what is not free. So shares never add up to more than the whole.
--
-- These data may stand for others that Redis has lost. Members from before the loss may believe to have shares, and tell
-- of them within PRESENCE, for they ask several times a second. Until then no share grows.
local isYoung = epoch <= now and now < epoch + presence
local told = 0
local count, live, others, validUntil = 0, 0, 0, now + presence
for name, member in pairs(members) do
  count = count + (name == UNKNOWN and 0 or 1)
  if member.heard + presence > now then
    live = live + 1
  end
  if member ~= mine then
    others = others + member.share
  end
end
local claimants = 0
for _, member in pairs(members) do
  claimants = claimants + member.claims
end
if mine and status == OK and (what == 'stay' or what == 'return') then
  if claims == 1 then
    told = math.max(0, math.min(math.floor(PARTS / math.max(claimants, expected)), PARTS - others))
    told = isYoung and math.min(told, mine.share) or told
  end
  mine.share = math.max(told, isOvertaken and mine.share or math.min(held, mine.share))
end
for _, member in pairs(members) do
  if member.absent == 0 and member.share > 0 then
    validUntil = math.min(validUntil, member.heard + presence)
  end
end

-- ---- what is written, and answered

local words = {}
for i, period in ipairs(periods) do
  words[i] = string.format('%.0f:%.0f', period.from, period.share)
end
local absences = table.concat(words, ' ')
for name, member in pairs(members) do
  local value =
    struct.pack('>ddddd', member.heard, member.ends, member.share, member.absent, member.claims)
  if value ~= member.before then
    redis.call('HSET', MEMBERS, name, value)
  end
end
if wentBack or nobodyHeard or (status == OK and (what == 'stay' or what == 'return')) then
  redis.call('HSET', MEMBERS, '@heard', string.format('%.0f', now))
end
if what == 'look' then
  redis.call('HSET', MEMBERS, '@looked', string.format('%.0f', now))
end
if not head['@epoch'] and mine then
  redis.call('HSET', MEMBERS, '@epoch', string.format('%.0f', epoch))
end
if absences ~= (head['@absences'] or '') then
  redis.call('HSET', MEMBERS, '@absences', absences)
end
local rules = KEYS[2] and redis.call('HMGET', KEYS[2], '@version', '@life') or {}
return {
  status, now, validUntil, told, absentParts(), count, live, absences, epoch,
  tonumber(rules[1] or 0) or 0, tonumber(rules[2] or 0) or 0, sharesOfAll()
}
