-- ARGV: for each entry its id, -priority, order (20 digits) and attention time ('' when it is ready).
-- The revision comes first: where Redis is full, that write is refused before anything has changed.
advance()
local ids, places, ready, waiting = {}, {}, {}, {}
for i = 1, #ARGV, 4 do
  local id, score, order, at = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local place, into, by = order, ready, score
  if at ~= '' then
    place, into, by = '@' .. score .. ':' .. order, waiting, at
  end
  into[#into + 1] = by
  into[#into + 1] = place .. ':' .. id
  places[#places + 1] = id
  places[#places + 1] = place
  ids[#ids + 1] = id
end
displace(ids)
in_chunks('ZREM', HELD, ids)
in_chunks('ZADD', READY, ready)
in_chunks('ZADD', WAITING, waiting)
in_chunks('HSET', PLACES, places)
