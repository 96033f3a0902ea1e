-- ARGV: owner, ttl in milliseconds. A sixth key says who refills.
-- Each key gets a mark of the owner too: what is evicted or flushed while it is filled has lost that mark at the end.
local owner, ttl = ARGV[1], ARGV[2]
if not redis.call('SET', KEYS[6], owner, 'NX', 'PX', ttl) then
  if redis.call('GET', KEYS[6]) ~= owner then return 0 end
  redis.call('PEXPIRE', KEYS[6], ttl)
end
local warm = is_warm()
if not warm then redis.call('UNLINK', READY, WAITING, PLACES) end
for _, key in ipairs({ READY, WAITING, HELD }) do
  redis.call('ZREMRANGEBYSCORE', key, 'inf', 'inf')
  redis.call('ZADD', key, 'inf', '~fill:' .. owner)
  if warm then redis.call('ZADD', key, 'inf', WARM) end
end
redis.call('HSET', PLACES, '~fill', owner)
return 1
