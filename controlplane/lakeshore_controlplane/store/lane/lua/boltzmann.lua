-- The draw of a boltzmann queue, without a look at every level: there may be as many levels as ids.
-- Levels are grouped into bands one temperature wide, counted from the top: within band f all weights lie between
-- exp(-f - 1) and exp(-f). A band is drawn by count * exp(-f), a rank within it evenly, and what was found is accepted
-- with its weight / exp(-f), which is 1/e or more. That gives each id exactly the odds exp((level - top) / T).
-- boltzmann.py says the same in Python, draw for draw.
local DEEPEST = 40 -- exp(-40) of the top's weight cannot be seen in any number of draws

-- Park and Miller's generator: exact in doubles, so Python's draws are the same.
local function generator(seed)
  local state = seed
  return function()
    state = (state * 48271) % 2147483647
    return state / 2147483647
  end
end

local function survey(temperature)
  local total = redis.call('ZCOUNT', READY, '-inf', '(inf')
  local bands, rank, top = {}, 0, nil
  while rank < total do
    local text = redis.call('ZRANGE', READY, rank, rank, 'WITHSCORES')[2]
    local score = tonumber(text)
    top = top or score
    local fold = math.floor((score - top) / temperature)
    if fold > DEEPEST then break end
    local upper = top + (fold + 1) * temperature
    -- Where the temperature is lost in rounding, the band is one level.
    local bound = upper > score and '(' .. string.format('%.17g', upper) or text
    local count = redis.call('ZCOUNT', READY, '-inf', bound) - rank
    bands[#bands + 1] = { fold = fold, first = rank, count = count }
    rank = rank + count
    if upper == math.huge then break end
  end
  return bands, top
end

local function draw_band(bands, random)
  local mass = 0
  for _, band in ipairs(bands) do
    mass = mass + band.count * math.exp(-band.fold)
  end
  local point = random() * mass
  for i, band in ipairs(bands) do
    point = point - band.count * math.exp(-band.fold)
    if point < 0 then return i end
  end
  return 1
end

-- Draw a level: its band and its score as text.
local function draw_level(bands, top, temperature, random)
  while true do
    local chosen = draw_band(bands, random)
    local band = bands[chosen]
    local rank = band.first + math.floor(random() * band.count)
    local score = redis.call('ZRANGE', READY, rank, rank, 'WITHSCORES')[2]
    if random() < math.exp(band.fold - (tonumber(score) - top) / temperature) then
      return chosen, score
    end
  end
end

local function pop_boltzmann(n, temperature, seed)
  local random = generator(seed)
  local popped, bands, top = {}, {}, nil
  while #popped < n do
    -- Weights are relative to the highest level that is left, or all would vanish.
    if #bands == 0 or bands[1].count == 0 then
      bands, top = survey(temperature)
      if #bands == 0 then break end
    end
    local chosen, score = draw_level(bands, top, temperature, random)
    local member = redis.call('ZRANGEBYSCORE', READY, score, score, 'LIMIT', 0, 1)[1]
    redis.call('ZREM', READY, member)
    popped[#popped + 1] = member
    bands[chosen].count = bands[chosen].count - 1
    for i = chosen + 1, #bands do
      bands[i].first = bands[i].first - 1
    end
  end
  return popped
end
