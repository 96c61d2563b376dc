-- What becomes of a reservation. ARGV: node, "settle", id, tokens used, or "extend", id; then "elsewhere" if
-- another node told of it, or nothing.
-- Answers {} if there is none; {1} for one that lives on; {tokens, tokens asked for, tenant, what came
-- back or, if negative, was charged on top, when it was granted, class}.
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
      -- A member that is absent may have granted the same ticket by itself, and report it as open.
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
  -- A node may be about to have it held: one that granted it without Redis, or that knows books that are lost.
  recordEnded(id)
  if ARGV[5] then
    notifyEnded(id)
  end
end
return answer(result)
