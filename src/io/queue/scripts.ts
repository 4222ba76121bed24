// Scripts that Redis runs, each in one piece. Times are whole microseconds of Redis' own clock, written without an exponent.

/** Reads the clock, and a gate: a hash of `next`, `pausedUntil` and `interval`. Foreign text in its place counts as no gate. */
const readGate = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then redis.call('DEL', KEYS[1]) end
local gate = redis.call('HMGET', KEYS[1], 'next', 'pausedUntil', 'interval')
local next, pausedUntil, interval = tonumber(gate[1]) or 0, tonumber(gate[2]) or 0, tonumber(gate[3]) or 0
local function whole(number) return string.format('%.0f', number) end
-- A gate is forgotten a minute after its last start or pause.
local function keep(untilUs) redis.call('PEXPIRE', KEYS[1], whole(math.max(0, untilUs - now) / 1000 + 60000)) end
`;

/**
 * Reserves starts. KEYS: the gate. ARGV: interval, count. Answers the number of starts, the time until the first (without one: until one can be
 * reserved), and the interval. Starts are reserved at most 500 ms ahead, so that others come between.
 */
export const reserveScript = `${readGate}
local ahead = 500000
interval = math.max(interval, tonumber(ARGV[1]))
local first = math.max(now, next, pausedUntil)
local count = tonumber(ARGV[2])
if first - now > ahead then count = 0 end
if count > 0 then next = first + count * interval end
redis.call('HSET', KEYS[1], 'next', whole(next), 'interval', whole(interval))
keep(math.max(next, pausedUntil))
if count == 0 then first = first - ahead end
return {count, first - now, interval}
`;

/** Pauses a gate and tells everybody. KEYS: the gate. ARGV: the channel, ms, the news. A shorter pause does not end a longer one. */
export const pauseScript = `${readGate}
pausedUntil = math.max(pausedUntil, now + tonumber(ARGV[2]) * 1000)
redis.call('HSET', KEYS[1], 'pausedUntil', whole(pausedUntil))
keep(math.max(next, pausedUntil))
redis.pcall('PUBLISH', ARGV[1], ARGV[3])
`;

/** The ms that a gate is still paused. KEYS: the gate. */
export const pauseLeftScript = `
local time = redis.call('TIME')
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 0 end
local untilUs = tonumber(redis.call('HGET', KEYS[1], 'pausedUntil')) or 0
return math.max(0, math.ceil((untilUs - (time[1] * 1000000 + time[2])) / 1000))
`;

/** Counts a request of a day. KEYS: the counter. ARGV: the maximum. Answers 1, or 0 if it is reached. Kept for two days. */
export const countScript = `
local count = tonumber(redis.call('GET', KEYS[1])) or 0
if count >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], string.format('%.0f', count + 1), 'EX', 172800)
return 1
`;
