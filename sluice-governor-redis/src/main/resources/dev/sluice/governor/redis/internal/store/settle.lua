-- Settles or extends a reservation. ARGV: node, "settle", id, tokens used, or "extend", id; then "elsewhere" if another
-- node delivered its grant, or nothing. Answers {} if there is none; {1} for an extended one; {tokens, tokens asked
-- for, tenant, refunded tokens (negative for tokens charged in addition), time of the grant, class}.
if not open(server, { 'r' .. ARGV[3] }) then
  return { 0 }
end
local id = ARGV[3]
local stored = get('r' .. id)
local result = {}
if stored and ARGV[2] == 'extend' then
  setDue('r' .. id, now + C.life)
  if ARGV[4] then
    notifyExtended(id)
  end
  result = { 1 }
elseif stored then
  local reservation = unpackReservation(stored)
  local back = settle(id, reservation, tonumber(ARGV[4]))
  if isRestored(reservation) then
    recordEnded(id)
  end
  local ticket = reservation.ticket == 1 and ticketOf(id)
  if ticket then
    forget(ticket)
  end
  if ARGV[5] or (ticket and mayBeDeliveredElsewhere(ticket)) then
    notifyEnded(id)
    if PRESENT == NOT_YET then
      -- An absent member may have granted the same ticket by itself, and report it as open.
      recordEnded(id)
    end
  end
  if S.waiting > 0 then
    drain(granted)
  else
    countRefill()
  end
  result =
    { reservation.tokens, reservation.asked, reservation.tenant, back, reservation.at, reservation.class }
elseif ARGV[2] == 'settle' then
  -- A node may be about to restore it: one that granted it without Redis, or that knows state that is lost.
  recordEnded(id)
  if ARGV[5] then
    notifyEnded(id)
  end
end
return answer(result)
