// Lua scripts about the runs in a queue. Redis executes each of them atomically. Times are whole microseconds of Redis' clock.

/** Defines a function that returns true if another program has stored a value of a different type in a key. */
export const isForeign = `
local function isForeign(key, type)
  local found = redis.call('TYPE', key).ok
  return found ~= type and found ~= 'none'
end
`;

const now = `
local function now()
  local time = redis.call('TIME')
  return string.format('%.0f', time[1] * 1000000 + time[2])
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
export const claimScript = `${isForeign}${now}
if isForeign(KEYS[1], 'hash') then redis.call('DEL', KEYS[1]) end
if isForeign(KEYS[2], 'set') then redis.call('DEL', KEYS[2]) end
local found = redis.call('HMGET', KEYS[1], 'token', 'seen', 'gen')
if found[1] and found[1] ~= ARGV[1] and found[1] ~= ARGV[2] then return {found[1], found[2] or ''} end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'seen', now(), unpack(ARGV, 5))
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('SADD', KEYS[2], ARGV[4])
return {'ours', found[3] or ''}
`;

/**
 * Stores that the coordinator of a run is alive, and everything by which workers find the run. Another program, or an older snapshot of
 * Redis, may have removed or replaced any of it. Deletes the run if one of its keys has a different type.
 * KEYS: run, results, runs, manifest.
 * ARGV: token of the coordinator, seconds to keep the run, run id, the last beat that Redis has confirmed, SHA-1 of the manifest, then names
 * and values to store.
 * Returns 'ours', or 'no-manifest' if the manifest has to be stored again. Returns 'lost' if the run does not exist, 'older' if it is in the
 * state of an earlier beat, or 'taken' if it has another coordinator.
 */
export const beatScript = `${isForeign}${now}
if isForeign(KEYS[1], 'hash') or isForeign(KEYS[2], 'list') then
  redis.call('DEL', KEYS[1], KEYS[2])
  return 'lost'
end
if isForeign(KEYS[3], 'set') then redis.call('DEL', KEYS[3]) end
if isForeign(KEYS[4], 'string') then redis.call('DEL', KEYS[4]) end
local found = redis.call('HMGET', KEYS[1], 'token', 'beat')
if not found[1] then return 'lost' end
if found[1] ~= ARGV[1] then return 'taken' end
if (tonumber(found[2] or '') or -1) < tonumber(ARGV[4]) then return 'older' end
redis.call('HSET', KEYS[1], 'seen', now(), unpack(ARGV, 6))
redis.call('SADD', KEYS[3], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[2])
redis.call('EXPIRE', KEYS[4], ARGV[2])
if redis.sha1hex(redis.call('GET', KEYS[4]) or '') ~= ARGV[5] then return 'no-manifest' end
return 'ours'
`;

/** Removes a run from the set of runs, unless the run exists. KEYS: run, runs. ARGV: run id. */
export const forgetScript = `
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then redis.call('SREM', KEYS[2], ARGV[1]) end
return 1
`;

/** Sets the expiry of keys that have none. KEYS: the keys. ARGV: seconds to keep them. */
export const expireScript = `
for _, key in ipairs(KEYS) do
  if redis.call('TTL', key) == -1 then redis.call('EXPIRE', key, ARGV[1]) end
end
return 1
`;

/** Maximum number of messages that may wait for a run's coordinator. When it is reached, workers hold back further messages. */
const maxWaiting = 256;

/**
 * Adds a worker's message for the coordinator.
 * KEYS: run, results. ARGV: message, channel, seconds to keep the keys.
 * Returns 1 if the message was added, 0 if the run does not exist or another program has replaced a key of it, or -1 if too many messages are
 * waiting.
 */
export const sendScript = `${isForeign}
if redis.call('EXISTS', KEYS[1]) == 0 or isForeign(KEYS[1], 'hash') or isForeign(KEYS[2], 'list') then return 0 end
if redis.call('LLEN', KEYS[2]) >= ${maxWaiting} then return -1 end
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[3])
redis.call('PUBLISH', ARGV[2], '')
return 1
`;

/** Puts a unit off. KEYS: later. ARGV: the unit, and the ms on Redis' clock, because the clocks of workers may be wrong. */
export const putOffScript = `${isForeign}
if isForeign(KEYS[1], 'zset') then redis.call('DEL', KEYS[1]) end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]), ARGV[1])
return 1
`;

/**
 * Takes the units whose time has come, at most 100, from the units that were put off. A unit also counts as due if its time is later than any
 * worker can have set it: another program has changed it, or Redis' clock was set back.
 * KEYS: later. ARGV: maximum time in ms for which units are put off. Returns the units.
 */
export const dueScript = `${isForeign}
if isForeign(KEYS[1], 'zset') then redis.call('DEL', KEYS[1]) end
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', nowMs), 'LIMIT', 0, 100)
if #due == 0 then due = redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', nowMs + ARGV[1]), '+inf', 'LIMIT', 0, 100) end
if #due > 0 then redis.call('ZREM', KEYS[1], unpack(due)) end
return due
`;

/**
 * Removes a unit from the queue, even if BullMQ has given it to a worker.
 * KEYS: put-off units, then wait, active and stalled of BullMQ, the unit's job and the lock of this job. ARGV: id and data of the job.
 */
export const takeOutScript = `
redis.call('ZREM', KEYS[1], ARGV[2])
redis.call('LREM', KEYS[2], 0, ARGV[1])
redis.call('LREM', KEYS[3], 0, ARGV[1])
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('DEL', KEYS[5], KEYS[6])
return 1
`;

/**
 * Returns the state of units in the queue. Also removes what keeps BullMQ from passing units on: keys that another program has replaced by
 * a different type, and settings that pause the queue.
 * KEYS: put-off units, then wait, active, meta, id and stalled-check of BullMQ, then its other keys.
 * ARGV: prefix of BullMQ's jobs, the types of KEYS separated by spaces, then for each unit the id and the data of its job and the key of its
 * records.
 * Returns for each unit 'missing', 'waiting' or 'active'.
 */
export const unitStatesScript = `${isForeign}
local at = 0
for type in string.gmatch(ARGV[2], '%a+') do
  at = at + 1
  if isForeign(KEYS[at], type) then redis.call('DEL', KEYS[at]) end
end
redis.call('HDEL', KEYS[4], 'paused', 'concurrency', 'max', 'duration')
if not tonumber(redis.call('GET', KEYS[5]) or 0) then redis.call('DEL', KEYS[5]) end
if redis.call('PTTL', KEYS[6]) == -1 then redis.call('DEL', KEYS[6]) end
local found = {}
for _, unit in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do found[unit] = 'waiting' end
for _, job in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do found[job] = 'waiting' end
for _, job in ipairs(redis.call('LRANGE', KEYS[3], 0, -1)) do found[job] = 'active' end
local states = {}
for unit = 3, #ARGV, 3 do
  local job, data = ARGV[1] .. ARGV[unit], ARGV[unit + 1]
  local isWhole = redis.call('TYPE', job).ok == 'hash' and redis.call('HGET', job, 'data') == data
  local state = found[data] or isWhole and found[ARGV[unit]]
  if redis.call('TYPE', ARGV[unit + 2]).ok ~= 'string' then state = nil end
  states[#states + 1] = state or 'missing'
end
return states
`;
