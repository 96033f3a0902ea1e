-- ARGV: owner. The lane becomes warm only when every key still is the one that this owner filled.
local owner, whole = ARGV[1], redis.call('HGET', PLACES, '~fill') == ARGV[1]
for _, key in ipairs({ READY, WAITING, HELD }) do
  if not redis.call('ZSCORE', key, '~fill:' .. owner) then whole = false end
end
if whole then
  for _, key in ipairs({ READY, WAITING, HELD }) do
    redis.call('ZREMRANGEBYSCORE', key, 'inf', 'inf')
    redis.call('ZADD', key, 'inf', WARM)
  end
  redis.call('HDEL', PLACES, '~fill')
  redis.call('HSET', PLACES, WARM, 1)
end
if redis.call('GET', KEYS[6]) == owner then redis.call('DEL', KEYS[6]) end
return whole and 1 or 0
