// Lua scripts about the runs in a queue. Redis executes each of them atomically. Times are whole microseconds of Redis' clock.

/** Defines a function that returns true if another program has stored a value of a different type in a key. */
const isForeign = `
local function isForeign(key, type)
  local found = redis.call('TYPE', key).ok
  return found ~= type and found ~= 'none'
end
`;

/**
 * Makes a process the coordinator of a run. The process is identified by a random token.
 * KEYS: run, runs.
 * ARGV: token of the process, token of a coordinator known to be dead or '', seconds to keep the run, run id, then names and values to
 * store.
 * Returns 'ours' and the generation of an earlier coordinator ('' if there was none). If the run already has another coordinator, returns
 * that coordinator's token and the time at which it last updated its status.
 */
export const claimScript = `
local time = redis.call('TIME')
local found = redis.call('HMGET', KEYS[1], 'token', 'seen', 'gen')
if found[1] and found[1] ~= ARGV[1] and found[1] ~= ARGV[2] then return {found[1], found[2]} end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'seen', string.format('%.0f', time[1] * 1000000 + time[2]), unpack(ARGV, 5))
redis.call('HDEL', KEYS[1], 'closing', 'ended')
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, 7) == 'starts:' then redis.call('HDEL', KEYS[1], field) end
end
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('SADD', KEYS[2], ARGV[4])
return {'ours', found[3] or ''}
`;

/**
 * Stores that the coordinator of a run is alive, together with other values. Deletes the run if another program has replaced one of the keys.
 * KEYS: run, results.
 * ARGV: token of the coordinator, then names and values to store.
 * Returns 1, or 0 if the run does not exist or has another coordinator.
 */
export const seenScript = `${isForeign}
if isForeign(KEYS[1], 'hash') or isForeign(KEYS[2], 'list') then
  redis.call('DEL', KEYS[1], KEYS[2])
  return 0
end
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'seen', string.format('%.0f', time[1] * 1000000 + time[2]), unpack(ARGV, 2))
return 1
`;

/** Counts one more start of a unit. KEYS: run. ARGV: the field of the unit. Returns the count, or 0 if the run does not exist. */
export const startScript = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
`;

/** Maximum number of messages that may wait for a run's coordinator. When it is reached, workers hold back further messages. */
const maxWaiting = 256;

/**
 * Adds a worker's message for the coordinator. In the same atomic step, marks as finished all records whose results are in the message.
 * KEYS: run, results, then for each unit the set of its finished records.
 * ARGV: message, channel, seconds to keep the keys, generation, then for each unit its field, the number of its finished records, and their
 * positions.
 * Returns 1 if the message was added, 0 if the run does not exist or another program has replaced a key of it, or -1 if too many messages are
 * waiting. A set that another program has replaced is deleted.
 */
export const sendScript = `${isForeign}
if redis.call('EXISTS', KEYS[1]) == 0 or isForeign(KEYS[1], 'hash') or isForeign(KEYS[2], 'list') then return 0 end
if redis.call('LLEN', KEYS[2]) >= ${maxWaiting} then return -1 end
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[3])
-- Nobody takes units of an earlier generation. The worker that reports has started its unit: the count begins with it.
local at = 5
for unit = 3, redis.call('HGET', KEYS[1], 'gen') == ARGV[4] and #KEYS or 0 do
  redis.call('HSET', KEYS[1], ARGV[at], 1)
  local count = tonumber(ARGV[at + 1])
  if isForeign(KEYS[unit], 'set') then redis.call('DEL', KEYS[unit]) end
  redis.call('SADD', KEYS[unit], unpack(ARGV, at + 2, at + 1 + count))
  redis.call('EXPIRE', KEYS[unit], ARGV[3])
  at = at + 2 + count
end
redis.call('PUBLISH', ARGV[2], '')
return 1
`;
