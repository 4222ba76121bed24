import { expect, test } from 'vitest';
import { AuditStore } from '../../../src/serve/store/audit.ts';
import { UsageStore } from '../../../src/serve/store/usage.ts';
import { serverDatabase, setClock } from '../../helpers/server-keys.ts';

const counts = { requests: 1, refused: 2, records: 3, credits: 0.5 };

test('the usage of API keys is added up by key and day', () => {
  const store = new UsageStore(serverDatabase());
  const one = { key: 'a', day: '2026-11-24', ...counts, lastUsedAtMs: 60_000 };
  store.add([one, { ...one, key: 'b' }]);
  store.add([
    { ...one, lastUsedAtMs: undefined },
    { ...one, day: '2026-12-01', lastUsedAtMs: 120_000 },
  ]);
  const twice = { requests: 2, refused: 4, records: 6, credits: 1, lastUsedAtMs: 60_000 };
  expect(store.read({ key: 'a' })).toEqual([
    { key: 'a', day: '2026-11-24', ...twice },
    { key: 'a', day: '2026-12-01', ...counts, lastUsedAtMs: 120_000 },
  ]);
  expect(store.read({ month: '2026-11' }).map(({ key }) => key)).toEqual(['a', 'b']);
  expect(store.lastUses()).toEqual(
    new Map([
      ['a', 120_000],
      ['b', 60_000],
    ]),
  );
});

test('usage without a request has no time of last use', () => {
  const store = new UsageStore(serverDatabase());
  store.add([{ key: 'a', day: '2026-11-24', ...counts, lastUsedAtMs: undefined }]);
  expect([store.read()[0]?.lastUsedAtMs, store.lastUses().size]).toEqual([undefined, 0]);
  store.add([]);
  expect(store.read()).toHaveLength(1);
});

test('the audit log is read in pages, newest first, and covers 90 days', () => {
  const clock = setClock();
  const audit = new AuditStore(serverDatabase(), clock.wallNow);
  const entry = (target: string) => ({ who: 'command', what: 'key.create', target, address: '', outcome: 'ok' });
  for (const target of ['a', 'b', 'c']) {
    audit.add(entry(target));
    clock.pass(86_400_000);
  }
  const first = audit.read({ limit: 2 });
  expect(first.map(({ target }) => target)).toEqual(['c', 'b']);
  expect(first[0]).toEqual({ ...entry('c'), id: 3, atMs: clock.wallNow() - 86_400_000 });
  expect(audit.read({ limit: 2, before: first[1]?.id }).map(({ target }) => target)).toEqual(['a']);
  clock.pass(88.5 * 86_400_000);
  expect(audit.read({ limit: 9 }).map(({ target }) => target)).toEqual(['c']);
  audit.add(entry('d'));
  expect(audit.read({ limit: 9 }).map(({ id, target }) => [id, target])).toEqual([
    [4, 'd'],
    [3, 'c'],
  ]);
});
