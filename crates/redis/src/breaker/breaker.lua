-- One process's request to the breaker of a whole fleet: reports results of probes and a broken rule, asks for a probe,
-- and gets the breaker's state, in one atomic step.
-- It is a translation of stagger_core::breaker, and held to it by differential.rs.
--
-- KEYS[1]  the breaker's state
-- ARGV[1]  the rule: open time, its cap, lease of a probe (0: the open time), ramp (0: none), all in us; factor in
--          millionths, probes
-- ARGV[2]  the request: epoch as the process knows it; opening (0 none, 1 a rule is broken, 2 remembered
--          from before), how long it is still open and its open time in us; token of the probe it wants (0: none);
--          chance in millionths
-- ARGV[3]  results of probes: token, then 0 nothing, 1 good, 2 bad
-- ARGV[4]  for how many ms the key is kept; ARGV[5]  the time in us, for tests only: else it is the server's
-- Answers  epoch, kind, us until the open time or the ramp ends, open time in us, us of the probe's lease (0: none).
--
-- State: epoch, kind, until, open time, good probes; then token and end of the lease of each probe under way.
-- The epoch counts the moves, from the time of the first one on: so a store that lost its data never repeats one.
-- Every number is whole and below 2^53, where Lua's are exact. tostring() is not: it ends after 14 digits.

local MILLION = 1000000
local CLOSED, OPEN, HALF_OPEN, RAMP = 0, 1, 2, 3
local TRIP, REMEMBERED = 1, 2
local NOTHING, BAD = 0, 2

local function numbers(text)
  local all = {}
  for word in string.gmatch(text or '', '%d+') do all[#all + 1] = tonumber(word) end
  return all
end

-- The product may pass 2^53, so that the span is split.
local function share(span, ratio)
  local rest = span % MILLION
  return (span - rest) / MILLION * ratio + math.floor(rest * ratio / MILLION)
end

local rule, ask, results = numbers(ARGV[1]), numbers(ARGV[2]), numbers(ARGV[3])
local plan = { open_time = rule[1], cap = rule[2], lease = rule[3], ramp = rule[4], factor = rule[5], probes = rule[6] }
local now = tonumber(ARGV[5])
if not now then
  local time = redis.call('TIME')
  now = time[1] * MILLION + time[2]
end

-- A breaker that nobody has opened has no key.
local text = redis.call('GET', KEYS[1])
local known = numbers(text)
local epoch, kind, ends = known[1] or 0, known[2] or CLOSED, known[3] or 0
local open_time, good = known[4] or plan.open_time, known[5] or 0
local under_way = {}
for i = 6, #known, 2 do under_way[#under_way + 1] = { token = known[i], ends = known[i + 1] } end

local function lease() return plan.lease > 0 and plan.lease or open_time end
local function longest() return open_time + math.floor(open_time / 2) end

local function move(to)
  kind, epoch = to, epoch == 0 and now or epoch + 1
  good, under_way = 0, {}
end

local function open()
  ends = now + open_time + share(math.floor(open_time / 2), ask[6])
  move(OPEN)
end

local function grow() open_time = math.min(share(open_time, plan.factor), plan.cap) end

local function close()
  if plan.ramp > 0 then
    ends = now + plan.ramp
    move(RAMP)
  else
    open_time = plan.open_time
    move(CLOSED)
  end
end

-- What time alone does. Nothing ends later than it could have begun to: the clock may have been set back.
local function wake()
  if kind == OPEN then
    ends = math.min(ends, now + longest())
    if now >= ends then move(HALF_OPEN) end
  elseif kind == RAMP then
    ends = math.min(ends, now + plan.ramp)
    if now >= ends then kind, open_time = CLOSED, plan.open_time end
  end
  local left = {}
  for _, probe in ipairs(under_way) do
    probe.ends = math.min(probe.ends, now + lease())
    if now < probe.ends then left[#left + 1] = probe end
  end
  under_way = left
end

-- Whether the process speaks of the state that we are in: what it says of one before is stale.
local function is_current() return ask[1] == epoch end

local function hear(token, finding)
  if kind ~= HALF_OPEN or not is_current() then return end
  for place, probe in ipairs(under_way) do
    if probe.token == token then
      table.remove(under_way, place)
      if finding == BAD then
        grow()
        open()
      elseif finding ~= NOTHING then
        good = good + 1
        if good >= plan.probes then close() end
      end
      return
    end
  end
end

local function trip()
  if not is_current() then return end
  if kind == CLOSED then
    open_time = plan.open_time
    open()
  elseif kind == RAMP then
    grow()
    open()
  end
end

-- Somebody remembers that it was open, and the store does not: open wins.
local function remember(left, time)
  if kind ~= CLOSED and kind ~= RAMP then return end
  open_time = math.min(math.max(time, plan.open_time), plan.cap)
  ends = now + math.min(left, longest())
  move(OPEN)
  wake()
end

-- The end of the lease. Who asks again for the same probe, because an answer was lost, has it already.
local function admit(token)
  for _, probe in ipairs(under_way) do
    if probe.token == token then return probe.ends end
  end
  if kind ~= HALF_OPEN or #under_way + good >= plan.probes then return now end
  under_way[#under_way + 1] = { token = token, ends = now + lease() }
  return now + lease()
end

wake()
for i = 1, #results, 2 do hear(results[i], results[i + 1]) end
if ask[2] == TRIP then
  trip()
elseif ask[2] == REMEMBERED then
  remember(ask[3], ask[4])
end
local leased = ask[5] > 0 and admit(ask[5]) - now or 0

-- What has not moved is not written, unless it would be forgotten while somebody asks for it.
if kind ~= CLOSED or epoch ~= (known[1] or 0) or kind ~= (known[2] or CLOSED) then
  local state = { epoch, kind, ends, open_time, good }
  for _, probe in ipairs(under_way) do
    state[#state + 1] = probe.token
    state[#state + 1] = probe.ends
  end
  for i, number in ipairs(state) do state[i] = string.format('%.0f', number) end
  redis.call('SET', KEYS[1], table.concat(state, ' '), 'PX', ARGV[4])
end
local left = (kind == OPEN or kind == RAMP) and ends - now or 0
return { epoch, kind, left, open_time, leased }
