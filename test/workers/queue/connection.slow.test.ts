import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openRedis, type QueueRedis, type RedisSettings } from '../../../src/workers/queue/connection.ts';
import { parseQueueUrl } from '../../../src/workers/queue/queue-url.ts';
import { type Certificates, makeCertificates } from '../../helpers/certificates.ts';
import { workplace } from '../../helpers/cli.ts';
import { rawServer, unusedPort } from '../../helpers/raw-server.ts';
import { hasRedis, redisServer, unlessRedis } from '../../helpers/redis.ts';

/** Opens a Redis connection for the current test. `warnings` receives its warnings. */
async function opened(url: string, settings: Partial<RedisSettings> = {}, warnings: string[] = []): Promise<QueueRedis> {
  const redis = await openRedis(parseQueueUrl(url), settings, (text) => warnings.push(text));
  onTestFinished(() => redis.close());
  return redis;
}

/** Resolves when the connection is lost (`isAway`) or restored. */
function untilAway(redis: QueueRedis, isAway: boolean): Promise<void> {
  return new Promise((resolve) => redis.onTrouble((trouble) => (trouble !== undefined) === isAway && resolve()));
}

async function refused(url: string, settings: Partial<RedisSettings>, message: string, kind = 'credential'): Promise<void> {
  const opening = opened(url, settings);
  await expect(opening).rejects.toMatchObject({ kind });
  await expect(opening).rejects.toThrow(message);
}

describe('an unusable Redis server', () => {
  test('is reported with the reason after the deadline if it cannot be reached', async () => {
    const port = await unusedPort();
    const reason = `Redis cannot be reached within 3 s: redis://127.0.0.1:${port}: the connection was refused`;
    await refused(`redis://127.0.0.1:${port}`, { deadlineMs: 3000 }, reason);
  });

  test('is mentioned once while it is tried again', async () => {
    const url = `redis://127.0.0.1:${await unusedPort()}`;
    const warnings: string[] = [];
    await expect(opened(url, { deadlineMs: 3000 }, warnings)).rejects.toThrow('Redis cannot be reached within 3 s');
    expect(warnings).toEqual([`cannot reach ${url}: trying for 3 s`]);
  });

  test('is reported if it accepts connections but never responds', async () => {
    const { port } = await rawServer(() => undefined);
    await refused(`redis://127.0.0.1:${port}`, { deadlineMs: 200 }, 'Redis cannot be reached within 0.2 s: it does not answer');
  });

  test('is reported at once if it is not Redis', async () => {
    const { port } = await rawServer((socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await refused(`redis://127.0.0.1:${port}`, {}, `redis://127.0.0.1:${port} does not answer like Redis`);
  });
});

const certificates = hasRedis ? makeCertificates() : undefined;

describe.skipIf(!hasRedis)(`a Redis server used as a queue${unlessRedis}`, () => {
  test('is accepted without a warning if it has an append-only file', async () => {
    const { url } = await redisServer();
    const warnings: string[] = [];
    const { client } = await opened(`${url}/3`, {}, warnings);
    expect(await client.client('INFO')).toMatch(/ db=3 .*name=automate|name=automate .* db=3 /);
    expect(warnings).toEqual([]);
  });

  test('is accepted with a warning if it has no append-only file', async () => {
    const { url } = await redisServer({ appendonly: 'no' });
    const warnings: string[] = [];
    await opened(url, {}, warnings);
    expect(warnings).toEqual([expect.stringContaining('has no append-only file')]);
  });

  test('is refused if its settings allow it to evict keys', async () => {
    const { url } = await redisServer({ maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' });
    await refused(url, {}, 'redis-cli config set maxmemory-policy noeviction');
  });

  test('can start later than the run, which waits for it', async () => {
    const server = await redisServer();
    await server.stop();
    const opening = opened(server.url);
    await server.start();
    expect(await (await opening).client.ping()).toBe('PONG');
  });

  test('is refused at once if its password is missing or wrong', async () => {
    const { url } = await redisServer({ requirepass: 'geheim' });
    expect(await (await opened(url, { password: 'geheim' })).client.ping()).toBe('PONG');
    await refused(url, {}, 'requires a password\nset AUTOMATE_QUEUE_PASSWORD');
    await refused(url, { password: 'falsch' }, 'refuses the password in AUTOMATE_QUEUE_PASSWORD');
  });

  test('can require a user name', async () => {
    const server = await redisServer();
    const admin = await opened(server.url);
    await admin.client.acl('SETUSER', 'team', 'on', '>geheim', '~*', '&*', '+@all');
    const { client } = await opened(server.url.replace('redis://', 'redis://team@'), { password: 'geheim' });
    expect(await client.acl('WHOAMI')).toBe('team');
    await refused(server.url.replace('redis://', 'redis://nobody@'), { password: 'geheim' }, 'refuses the password');
    await refused(server.url.replace('redis://', 'redis://team@'), {}, 'requires a password');
  });

  test.each([
    ['keys', ['~other*', '&*', '+@all'], (redis: QueueRedis) => redis.client.incr('key')],
    ['channels', ['~*', '&other*', '+@all'], (redis: QueueRedis) => redis.client.subscribe('channel')],
    ['commands', ['~*', '&*', '+@all', '-eval'], (redis: QueueRedis) => redis.client.eval('return 1', 0)],
    [
      'commands of scripts',
      ['~*', '&*', '+@all', '-incr'],
      (redis: QueueRedis) => redis.client.eval("return redis.call('incr', KEYS[1])", 1, 'key'),
    ],
  ])('says which rights its user needs if they lack %s', async (_what, rights, use) => {
    const server = await redisServer();
    const admin = await opened(server.url);
    await admin.client.acl('SETUSER', 'team', 'on', '>geheim', ...rights);
    const redis = await opened(server.url.replace('redis://', 'redis://team@'), { password: 'geheim' });
    const using = redis.insist<unknown>(() => use(redis));
    await expect(using).rejects.toMatchObject({ kind: 'credential' });
    await expect(using).rejects.toThrow('all keys and channels that begin with {automate:');
  });

  test('ends a worker at its start if its user lacks rights for keys', async () => {
    const server = await redisServer();
    const admin = await opened(server.url);
    await admin.client.acl('SETUSER', 'team', 'on', '>geheim', '~other*', '&*', '+@all');
    const place = await workplace({});
    const url = server.url.replace('redis://', 'redis://team@');
    const env = { AUTOMATE_QUEUE_PASSWORD: 'geheim' };
    const { code, stderr } = await place.automate(['worker', '--queue', url, '--exit-when-idle', '1s'], { env });
    expect(code, stderr).toBe(7);
    expect(stderr).toContain('the Redis user needs all commands, and all keys and channels that begin with {automate:');
    expect(stderr).not.toContain('is ready');
  });

  test('is accepted with a warning if it hides INFO', async () => {
    const server = await redisServer();
    const admin = await opened(server.url);
    await admin.client.acl('SETUSER', 'team', 'on', '>geheim', '~*', '&*', '+@all', '-info');
    const warnings: string[] = [];
    await opened(server.url.replace('redis://', 'redis://team@'), { password: 'geheim' }, warnings);
    expect(warnings).toEqual([expect.stringContaining('maxmemory-policy')]);
  });

  test('is refused if it does not have the database in the URL', async () => {
    const { url } = await redisServer();
    await refused(`${url}/99`, {}, 'DB index is out of range', 'usage');
  });

  test('keeps its data when it is restarted, and commands wait in the meantime', async () => {
    const server = await redisServer();
    const redis = await opened(server.url);
    await redis.client.set('key', 'value');
    const away = untilAway(redis, true);
    await server.kill();
    await away;
    expect(redis.isAway).toBe(true);
    const found = redis.client.get('key');
    const back = untilAway(redis, false);
    await server.start();
    await back;
    expect(redis.isAway).toBe(false);
    expect(await found).toBe('value');
  });

  test('is treated as unavailable on every connection if it hangs', async () => {
    const server = await redisServer();
    const redis = await opened(server.url);
    const other = redis.duplicate();
    await once(other, 'ready');
    const away = untilAway(redis, true);
    const otherAway = once(other, 'close');
    server.freeze();
    await Promise.all([away, otherAway]);
    const back = untilAway(redis, false);
    server.thaw();
    await back;
    expect(await Promise.all([redis.client.ping(), other.ping()])).toEqual(['PONG', 'PONG']);
  });

  test('does not delay the end of a run if it hangs', async () => {
    const server = await redisServer();
    const redis = await opened(server.url);
    const other = redis.duplicate();
    await once(other, 'ready');
    const ended = [once(redis.client, 'end'), once(other, 'end')];
    server.freeze();
    await redis.close();
    await Promise.all(ended);
    expect([redis.client.status, other.status]).toEqual(['end', 'end']);
  });

  test('makes commands wait while its memory is full', async () => {
    const server = await redisServer({ maxmemory: '3mb', 'maxmemory-policy': 'noeviction' });
    const redis = await opened(server.url);
    await redis.client.set('large', 'x'.repeat(4_000_000)).catch(() => undefined);
    await expect(redis.client.set('key', 'value')).rejects.toThrow('OOM');
    const tries: string[] = [];
    const setting = redis.insist(async () => {
      if (tries.push('try') === 2) await redis.client.del('large');
      return redis.client.set('key', 'value');
    });
    expect(await setting).toBe('OK');
    expect(tries).toHaveLength(2);
    await expect(redis.insist(() => redis.client.incr('key'))).rejects.toThrow('not an integer');
  });

  test('can be used over TLS if its certificate authority is trusted', async () => {
    const { authority, folder } = certificates as Certificates;
    const tlsPort = await unusedPort();
    const files = { 'tls-cert-file': `${folder}/good.pem`, 'tls-key-file': `${folder}/good.key`, 'tls-ca-cert-file': authority };
    await redisServer({ ...files, 'tls-port': String(tlsPort), 'tls-auth-clients': 'no' });
    const url = `rediss://127.0.0.1:${tlsPort}`;
    const cacert = readFileSync(authority, 'utf8');
    expect(await (await opened(url, { cacert })).client.ping()).toBe('PONG');
    await refused(url, {}, `the TLS connection to ${url} failed`);
    await refused(url, { cacert: 'no PEM' }, 'it contains no PEM certificate', 'usage');
  });
});
