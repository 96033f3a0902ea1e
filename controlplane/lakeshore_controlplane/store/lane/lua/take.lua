-- ARGV: now, how many, kind, temperature, held until, when expired holds come again, how many of those, how many may
-- become ready, seed of the draw. Gives ids, expired ids, and 1 when the lane is cold.
local now, n, kind = ARGV[1], tonumber(ARGV[2]), ARGV[3]

-- What waited until now becomes ready.
local function let_in(limit)
  local due = redis.call('ZRANGEBYSCORE', WAITING, '-inf', now, 'LIMIT', 0, limit)
  local ready, places = {}, {}
  for i = 1, #due do
    local score, member = string.match(due[i], '^@([^:]+):(.*)$')
    ready[2 * i - 1] = score
    ready[2 * i] = member
    places[2 * i - 1] = string.sub(member, 22)
    places[2 * i] = string.sub(member, 1, 20)
  end
  in_chunks('ZREM', WAITING, due)
  in_chunks('ZADD', READY, ready)
  in_chunks('HSET', PLACES, places)
  return #due
end

local function pop_first()
  local found = redis.call('ZRANGEBYSCORE', READY, '-inf', '(inf', 'LIMIT', 0, n)
  if #found > 0 then redis.call('ZREMRANGEBYRANK', READY, 0, #found - 1) end
  return found
end

-- The top level's last, then the next level's.
local function pop_last()
  local popped = {}
  while #popped < n do
    local score = redis.call('ZRANGE', READY, 0, 0, 'WITHSCORES')[2]
    if not score or tonumber(score) == math.huge then break end
    local found = redis.call('ZREVRANGEBYSCORE', READY, score, score, 'LIMIT', 0, n - #popped)
    local count = redis.call('ZCOUNT', READY, score, score)
    redis.call('ZREMRANGEBYRANK', READY, count - #found, count - 1)
    for i = 1, #found do
      popped[#popped + 1] = found[i]
    end
  end
  return popped
end

local function pop()
  if n <= 0 then return {} end
  if kind == 'filo' then return pop_last() end
  if kind == 'boltzmann' then return pop_boltzmann(n, tonumber(ARGV[4]), tonumber(ARGV[9])) end
  return pop_first()
end

local expired = redis.call('ZRANGEBYSCORE', HELD, '-inf', now, 'LIMIT', 0, ARGV[7])
hold(expired, ARGV[6])
local warm, moved, ids = is_warm(), #expired, {}
if warm then
  moved = moved + let_in(ARGV[8])
  ids = pop()
  for i = 1, #ids do
    ids[i] = string.sub(ids[i], 22)
  end
  in_chunks('HDEL', PLACES, ids)
  hold(ids, ARGV[5])
end
if moved + #ids > 0 then advance() end
return { ids, expired, warm and 0 or 1 }
