-- Serves one lease request from the budget of a whole fleet: counts the events, takes returns, grants, in one atomic step.
-- It is a translation of stagger_core::budget, and held to it by differential.rs.
--
-- KEYS[1]  the budget's state; KEYS[2]  what this process was answered last. Both have one hash tag.
-- ARGV[1]  the kind; ARGV[2]  its rule; ARGV[3]  the request: number, wanted, given back, their mark, first attempts,
--          successes at the first try, permits of successes after a retry, failures
-- ARGV[4]  for how many ms each key is kept; ARGV[5]  the time in us, for tests only: else it is the server's.
-- Answers  granted, mark, and the level: retries, held, capacity.
--
-- Every number is whole and below 2^53, where Lua's are exact. tostring() is not: it ends after 14 digits.

local MILLION = 1000000
local SLOTS = 10
local MOST = 4294967295

local function numbers(text)
  local all = {}
  for word in string.gmatch(text or '', '%d+') do all[#all + 1] = tonumber(word) end
  return all
end

local function words(all)
  local text = {}
  for i, number in ipairs(all) do text[i] = string.format('%.0f', number) end
  return table.concat(text, ' ')
end

local kinds = {}

-- Rule: slot and window in us, ratio, reserve and a slot's floor in millionths, whether the floor is added.
-- State: when the newest slot began, its turn, whole retries and millionths that are spent, first attempts of each slot,
-- the newest first. The product of a count and a ratio may pass 2^53, so that such sums are kept as those two parts.
local function share_of(rule, firsts)
  local rest = firsts % MILLION
  local millionths = rest * rule[3]
  return { (firsts - rest) / MILLION * rule[3] + math.floor(millionths / MILLION), millionths % MILLION }
end

local function parts(millionths) return { math.floor(millionths / MILLION), millionths % MILLION } end

local function sum(one, other)
  local millionths = one[2] + other[2]
  return { one[1] + other[1] + math.floor(millionths / MILLION), millionths % MILLION }
end

local function is_more(one, other) return one[1] > other[1] or (one[1] == other[1] and one[2] > other[2]) end

local function firsts_of(state)
  local firsts = 0
  for i = 5, 4 + SLOTS do firsts = firsts + state[i] end
  return firsts
end

local function allowance(rule, firsts)
  local share, reserve = share_of(rule, firsts), parts(rule[4])
  if rule[6] == 1 then return sum(share, reserve) end
  return is_more(share, reserve) and share or reserve
end

local function earned(rule, firsts, left)
  local share, floor = share_of(rule, left), parts(rule[5])
  if rule[6] == 1 then return sum(share, floor) end
  return is_more(share_of(rule, firsts), parts(rule[4])) and share or floor
end

local function spent_after(state, earnings)
  state[3], state[4] = state[3] - earnings[1], state[4] - earnings[2]
  if state[4] < 0 then state[3], state[4] = state[3] - 1, state[4] + MILLION end
  if state[3] < 0 then state[3], state[4] = 0, 0 end
end

kinds.window = {
  start = function()
    local state = { 0, 0, 0, 0 }
    for i = 5, 4 + SLOTS do state[i] = 0 end
    return state
  end,
  turn = function(rule, state, now)
    local slot, window = rule[1], rule[2]
    if now < state[1] then
      if state[1] - now > window then state[1] = now end
      return
    end
    local steps = math.floor((now - state[1]) / slot)
    state[1] = state[1] + steps * slot
    for _ = 1, math.min(steps, SLOTS) do
      local firsts = firsts_of(state)
      spent_after(state, earned(rule, firsts, table.remove(state)))
      table.insert(state, 5, 0)
      state[2] = state[2] + 1
    end
    -- No budget holds more than 10^12 spent retries, whatever the gap.
    local idle = math.min((steps - math.min(steps, SLOTS)) * rule[5], 9007199254740991)
    spent_after(state, parts(idle))
  end,
  hear = function(_, state, firsts) state[5] = math.min(state[5] + firsts, MOST) end,
  -- Nothing once the slot of the grant has left the window: its earnings have expired.
  give_back = function(_, state, count, mark)
    if state[2] - mark < SLOTS then spent_after(state, { count, 0 }) end
  end,
  level = function(rule, state)
    local most = allowance(rule, firsts_of(state))
    local left = most[1] - state[3]
    if most[2] < state[4] then left = left - 1 end
    left = math.max(left, 0)
    return left, left, most[1]
  end,
  grant = function(_, state, count)
    state[3] = state[3] + count
    return state[2]
  end,
}

-- Rule: capacity, initial, price of a retry, credit of a success at the first try. State: the tokens.
kinds.tokens = {
  start = function(rule) return { rule[2] } end,
  hear = function(rule, state, _, first_tries, after_retry)
    state[1] = math.min(state[1] + first_tries * rule[4], rule[1])
    state[1] = math.min(state[1] + after_retry * rule[3], rule[1])
  end,
  give_back = function(rule, state, count) state[1] = math.min(state[1] + count * rule[3], rule[1]) end,
  level = function(rule, state) return math.floor(state[1] / rule[3]), state[1], rule[1] end,
  grant = function(rule, state, count)
    state[1] = state[1] - count * rule[3]
    return 0
  end,
}

-- Rule: the most and the credit of a success, both in thousandths of a token. State: the count in those.
-- A grant takes nothing: the failure that led to it has been counted.
kinds.throttle = {
  start = function(rule) return { rule[1] } end,
  hear = function(rule, state, _, first_tries, after_retry, failed)
    state[1] = math.min(state[1] + (first_tries + after_retry) * rule[2], rule[1])
    state[1] = math.max(state[1] - failed * 1000, 0)
  end,
  give_back = function() end,
  level = function(rule, state)
    local left = math.max(state[1] - rule[1] / 2, 0)
    return math.ceil(left / 1000), state[1], rule[1]
  end,
  room = function(rule, state) return state[1] > rule[1] / 2 and MOST or 0 end,
  grant = function() return 0 end,
}

-- Rule: retries and the interval in us. State: when each of the places may be used again.
kinds.interval = {
  start = function(rule)
    local state = {}
    for i = 1, rule[1] do state[i] = 0 end
    return state
  end,
  turn = function(rule, state, now)
    state.now = now
    for i = 1, rule[1] do
      if state[i] - now > 2 * rule[2] then state[i] = now + rule[2] end
    end
  end,
  hear = function() end,
  -- Those that were granted last, of the same microsecond.
  give_back = function(rule, state, count, mark)
    for i = rule[1], 1, -1 do
      if count > 0 and state[i] == mark + rule[2] then
        state[i] = 0
        count = count - 1
      end
    end
  end,
  level = function(rule, state)
    local left = 0
    for i = 1, rule[1] do
      if state[i] <= state.now then left = left + 1 end
    end
    return left, left, rule[1]
  end,
  grant = function(rule, state, count)
    for i = 1, rule[1] do
      if count > 0 and state[i] <= state.now then
        state[i] = state.now + rule[2]
        count = count - 1
      end
    end
    return state.now
  end,
}

local kind, rule = kinds[ARGV[1]], numbers(ARGV[2])
local ask, keep = numbers(ARGV[3]), numbers(ARGV[4])
local number, wanted, returned, mark = ask[1], ask[2], ask[3], ask[4]
local now = tonumber(ARGV[5])
if not now then
  local time = redis.call('TIME')
  now = time[1] * MILLION + time[2]
end

local state = numbers(redis.call('GET', KEYS[1]))
if #state == 0 then state = kind.start(rule) end
if kind.turn then kind.turn(rule, state, now) end

-- A request that was heard, and whose answer was lost, gets the same answer and counts no more. One that was overtaken
-- by a later one gets nothing.
local last = numbers(redis.call('GET', KEYS[2]))
local granted, at = 0, 0
if last[1] == number then
  granted, at = last[2], last[3]
elseif not last[1] or last[1] < number then
  kind.hear(rule, state, ask[5], ask[6], ask[7], ask[8])
  if returned > 0 then kind.give_back(rule, state, returned, mark) end
  local room = kind.room and kind.room(rule, state) or kind.level(rule, state)
  granted = math.min(wanted, room)
  if granted > 0 then at = kind.grant(rule, state, granted) end
  redis.call('SET', KEYS[1], words(state), 'PX', keep[1])
  redis.call('SET', KEYS[2], words({ number, granted, at }), 'PX', keep[2])
end
local left, held, capacity = kind.level(rule, state)
return { granted, at, left, held, capacity }
