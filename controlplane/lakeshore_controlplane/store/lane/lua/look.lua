-- Gives 1 when warm, the numbers of ready, waiting and held, and the first times of waiting and held (a mark's is inf).
local function count(key)
  return redis.call('ZCOUNT', key, '-inf', '(inf')
end
local function first_time(key)
  return redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or 'inf'
end
return { is_warm() and 1 or 0, count(READY), count(WAITING), count(HELD), first_time(WAITING), first_time(HELD) }
