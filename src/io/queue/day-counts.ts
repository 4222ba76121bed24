import type { Redis } from 'ioredis';
import type { DayLimit } from '../../core/ports.ts';
import type { DayCounts } from '../daily-limits.ts';
import type { QueueRedis } from './connection.ts';
import { queuePrefix } from './queue-url.ts';
import { countScript } from './scripts.ts';

/** Counts the requests per day that all workers of a queue together send to public servers. A day is a UTC day of Redis' clock. */
export function redisDayCounts(redis: QueueRedis, queueName: string): DayCounts {
  redis.client.defineCommand('countOfDay', { numberOfKeys: 1, lua: countScript });
  const client = redis.client as Redis & { countOfDay(key: string, max: number): Promise<number> };
  return {
    async add({ server, max }: DayLimit) {
      const [seconds] = await redis.insist(() => client.time());
      const date = new Date(Number(seconds) * 1000).toISOString().slice(0, 10);
      return (await redis.insist(() => client.countOfDay(`${queuePrefix(queueName)}:day:${server}:${date}`, max))) === 1;
    },
  };
}
