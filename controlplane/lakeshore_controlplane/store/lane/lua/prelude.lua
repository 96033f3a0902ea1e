-- What every script of the lane begins with. One queue has five keys in one slot:
--   ready    ZSET  score -priority, member "<order, 20 digits>:<id>"
--   waiting  ZSET  score attention time, member "@<-priority>:<order>:<id>" (nothing is lost on the way to ready)
--   held     ZSET  score end of the hold, member "<id>"
--   places   HASH  id -> what precedes ":<id>" in its member of ready or waiting, to find it by its id alone
--   rev      the revision number
-- Redis may evict each key alone. So each of the first four bears a mark, and the lane is warm only while all four
-- have theirs: whichever key goes, the lane is cold and is filled again from the rows.
local READY, WAITING, HELD, PLACES, REV = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local WARM = '~warm'
local CHUNK = 6000 -- arguments of one call; Lua's unpack takes about 7,900. Even, so that pairs stay together.

local function is_warm()
  return redis.call('ZSCORE', READY, WARM) and redis.call('ZSCORE', WAITING, WARM)
    and redis.call('ZSCORE', HELD, WARM) and redis.call('HEXISTS', PLACES, WARM) == 1
end

-- Call a command with any number of values; gives the sum of its answers.
local function in_chunks(command, key, values)
  local sum = 0
  for first = 1, #values, CHUNK do
    sum = sum + redis.call(command, key, unpack(values, first, math.min(first + CHUNK - 1, #values)))
  end
  return sum
end

-- Take ids out of ready and waiting, wherever they are.
local function displace(ids)
  local ready, waiting, known = {}, {}, {}
  for first = 1, #ids, CHUNK do
    local last = math.min(first + CHUNK - 1, #ids)
    local places = redis.call('HMGET', PLACES, unpack(ids, first, last))
    for i = first, last do
      local place = places[i - first + 1]
      if place then
        local from = string.byte(place) == 64 and waiting or ready -- 64 is "@"
        from[#from + 1] = place .. ':' .. ids[i]
        known[#known + 1] = ids[i]
      end
    end
  end
  in_chunks('ZREM', READY, ready)
  in_chunks('ZREM', WAITING, waiting)
  in_chunks('HDEL', PLACES, known)
end

local function hold(ids, till)
  local pairs_ = {}
  for i = 1, #ids do
    pairs_[2 * i - 1] = till
    pairs_[2 * i] = ids[i]
  end
  return in_chunks('ZADD', HELD, pairs_)
end

-- A revision that was forgotten begins at the time in microseconds, which is above all that it ever was.
local function known_revision()
  local found = redis.call('GET', REV)
  if not found then
    local time = redis.call('TIME')
    found = time[1] .. string.format('%06d', time[2])
    redis.call('SET', REV, found)
  end
  return tonumber(found)
end

local function advance()
  known_revision()
  return redis.call('INCR', REV)
end
