// Lua scripts about gates (the rate limiters of APIs). Redis executes each of them atomically. Times are whole microseconds of Redis' clock,
// written without an exponent.

/**
 * Reads the clock and a gate. A gate is a hash with the fields `next` (the next start), `interval` (the interval before that start) and
 * `pausedUntil`. For each process, the field `rate:PROCESS` contains the process's interval and the time until which the interval counts.
 * If the key contains anything but a hash, it is deleted.
 */
const readGate = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then redis.call('DEL', KEYS[1]) end
local gate = redis.call('HMGET', KEYS[1], 'next', 'interval', 'pausedUntil')
local next, lastInterval, pausedUntil = tonumber(gate[1]) or 0, tonumber(gate[2]) or 0, tonumber(gate[3]) or 0
local function whole(number) return string.format('%.0f', number) end
-- A gate is forgotten a minute after its last start or pause.
local function keep(untilUs) redis.call('PEXPIRE', KEYS[1], whole(math.max(0, untilUs - now) / 1000 + 60000)) end
`;

/**
 * Reserves request starts of a gate, at most 500 ms ahead. A worker that reserved more would keep the other workers waiting.
 * KEYS: gate.
 * ARGV: interval, number of starts, id of the process.
 * Returns the number of reserved starts, the time until the first one, and the interval in use. If several processes use different
 * intervals, the longest applies. A process's interval counts for a minute after its last reservation, or for twice the interval, whichever
 * is longer. If no start could be reserved, the returned time is the wait until the next attempt.
 */
export const reserveScript = `${readGate}
local ahead = 500000
local interval = tonumber(ARGV[1])
local own = 'rate:' .. ARGV[3]
redis.call('HSET', KEYS[1], own, whole(interval) .. ' ' .. whole(now + math.max(60000000, 2 * interval)))
local fields = redis.call('HGETALL', KEYS[1])
for at = 1, #fields, 2 do
  local name = fields[at]
  local other, untilUs = string.match(fields[at + 1], '^(%d+) (%d+)$')
  if string.sub(name, 1, 5) == 'rate:' then
    if other and tonumber(untilUs) >= now then interval = math.max(interval, tonumber(other)) else redis.call('HDEL', KEYS[1], name) end
  end
end
-- The start is earlier if a lower rate has ended.
local first = math.max(now, next - math.max(0, lastInterval - interval), pausedUntil)
local count = math.min(tonumber(ARGV[2]), math.max(1, math.floor(ahead / interval)))
if first - now > ahead then count = 0 end
if count > 0 then
  next = first + count * interval
  redis.call('HSET', KEYS[1], 'next', whole(next), 'interval', whole(interval))
end
keep(math.max(next, pausedUntil))
if count == 0 then first = first - ahead end
return {count, first - now, interval}
`;

/** Ends a process's rate at a gate, so the gate no longer follows it. KEYS: gate. ARGV: id of the process. */
export const releaseScript = `
if redis.call('TYPE', KEYS[1]).ok == 'hash' then redis.call('HDEL', KEYS[1], 'rate:' .. ARGV[1]) end
`;

/**
 * Pauses a gate and notifies all workers. A pause that would end earlier does not shorten a longer one.
 * KEYS: gate.
 * ARGV: channel, duration in ms, text of the notification.
 */
export const pauseScript = `${readGate}
pausedUntil = math.max(pausedUntil, now + tonumber(ARGV[2]) * 1000)
redis.call('HSET', KEYS[1], 'pausedUntil', whole(pausedUntil))
keep(math.max(next, pausedUntil))
redis.pcall('PUBLISH', ARGV[1], ARGV[3])
`;

/** Returns for how many ms a gate is still paused. KEYS: gate. */
export const pauseLeftScript = `
local time = redis.call('TIME')
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 0 end
local untilUs = tonumber(redis.call('HGET', KEYS[1], 'pausedUntil')) or 0
return math.max(0, math.ceil((untilUs - (time[1] * 1000000 + time[2])) / 1000))
`;
