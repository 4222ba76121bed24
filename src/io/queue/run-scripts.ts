// Scripts about a run that Redis runs, each in one piece. Times are whole microseconds of Redis' own clock.

/**
 * Makes a process the coordinator of a run. KEYS: run, runs. ARGV: token, the token of a coordinator that is known to be dead or '', seconds to
 * keep, the run, then names and values of the run. Answers 'ours', or the token and the last sign of another coordinator.
 */
export const claimScript = `
local time = redis.call('TIME')
local found = redis.call('HMGET', KEYS[1], 'token', 'seen')
if found[1] and found[1] ~= ARGV[1] and found[1] ~= ARGV[2] then return {found[1], found[2]} end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'seen', string.format('%.0f', time[1] * 1000000 + time[2]), unpack(ARGV, 5))
redis.call('HDEL', KEYS[1], 'closing', 'ended')
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('SADD', KEYS[2], ARGV[4])
return {'ours'}
`;

/** Shows that a coordinator lives. KEYS: run. ARGV: token, names and values. Answers 1, or 0 if the run is not there or has another coordinator. */
export const seenScript = `
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'seen', string.format('%.0f', time[1] * 1000000 + time[2]), unpack(ARGV, 2))
return 1
`;

/** Results that may wait for their coordinator. A worker then sends no more. */
const maxWaiting = 256;

/**
 * Adds a message of a worker, and marks the records whose results it holds, in one piece. KEYS: run, results, starts, then for each unit its
 * marks. ARGV: message, channel, seconds to keep, generation of the units, then for each unit its name, the number of places, and the places. Answers 1; 0 if there is no
 * such run; -1 if too many messages wait.
 */
export const sendScript = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('LLEN', KEYS[2]) >= ${maxWaiting} then return -1 end
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[3])
-- Nobody takes units of an earlier generation.
local at = 5
for unit = 4, redis.call('HGET', KEYS[1], 'gen') == ARGV[4] and #KEYS or 0 do
  redis.call('HDEL', KEYS[3], ARGV[at])
  local count = tonumber(ARGV[at + 1])
  for place = 1, count do redis.call('SADD', KEYS[unit], ARGV[at + 1 + place]) end
  redis.call('EXPIRE', KEYS[unit], ARGV[3])
  at = at + 2 + count
end
redis.call('PUBLISH', ARGV[2], '')
return 1
`;
