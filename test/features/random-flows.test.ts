import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Clock } from '../../src/core/ports.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { type FlowOptions, runFlow, type SentRequest } from '../helpers/run-flow.ts';

const origin = 'https://api.example.com';

/** A node of a random flow, with its inner nodes. */
interface Part {
  readonly kind: 'ask' | 'expand' | 'pages' | 'batch' | 'loop' | 'last' | 'when';
  readonly nodes: readonly Part[];
}

const { flow: parts } = fc.letrec<{ flow: Part[]; part: Part; holder: Part; leaf: Part }>((tie) => ({
  flow: fc.array(tie('part'), { minLength: 1, maxLength: 3 }),
  part: fc.oneof({ depthSize: 'small', withCrossShrink: true }, tie('leaf'), tie('leaf'), tie('holder')),
  leaf: fc.record({
    kind: fc.constantFrom('ask', 'expand', 'pages', 'pages', 'batch', 'when'),
    nodes: fc.constant([]),
  }) as fc.Arbitrary<Part>,
  holder: fc.record({ kind: fc.constantFrom('loop', 'last'), nodes: tie('flow') }) as fc.Arbitrary<Part>,
}));

/** Returns the YAML lines of nodes, all of which keep the field `k`. */
function linesOf(nodes: readonly Part[], depth = 0): string[] {
  const indent = '  '.repeat(depth);
  return nodes.flatMap((node, index) => {
    const url = `"${origin}/${node.kind}/${depth}${index}/{{k}}"`;
    const http = (more: string) => [`${indent}- { type: http, url: ${url}, ${more} }`];
    switch (node.kind) {
      case 'ask':
        return http('map: { k: k }');
      case 'when':
        return http(`when: 'k.endsWith("1")', map: { k: k }`);
      case 'expand':
        return http('when_empty: drop, map: { k: "items[].k" }');
      case 'pages':
        return http('map: { k: "items[].k" }, paginate: { type: cursor, path: next, param: c }');
      case 'batch':
        return http(`method: POST, body: { of: "{{items}}" }, batch: { size: 3, items: "{{k}}" }, map: { k: "items[].k" }`).map((line) =>
          line.replace('/{{k}}', ''),
        );
      default:
        return [
          `${indent}- { type: set, fields: { p${depth}: 0 } }`,
          `${indent}- type: loop`,
          `${indent}  while: p${depth} < 2`,
          `${indent}  carry: [p${depth}]`,
          `${indent}  emit: ${node.kind === 'loop' ? 'each' : 'last'}`,
          `${indent}  nodes:`,
          `${indent}    - { type: set, fields: { p${depth}: { cel: p${depth} + 1 } } }`,
          ...linesOf(node.nodes, depth + 2),
        ];
    }
  });
}

const flowOf = (nodes: readonly Part[]) =>
  `nodes:\n${linesOf(nodes)
    .map((line) => `  ${line}\n`)
    .join('')}`;

/** Returns a number computed from a string. The same string always has the same number. */
const numberOf = (text: string) => [...text].reduce((hash, character) => (hash * 31 + character.charCodeAt(0)) % 1_000_003, 7);
const short = (text: string) => String(numberOf(text) % 9973);

/** Returns a response that depends only on the request; a few requests fail. */
function answerTo({ url, path, body }: Pick<SentRequest, 'url' | 'path' | 'body'>) {
  const kind = path.split('/')[1];
  const number = numberOf(path);
  if (kind !== 'batch' && number % 53 === 0) return { status: 404 };
  if (kind === 'batch') return { body: { items: JSON.parse(String(body)).of.map((k: string) => ({ k: short(path + k) })) } };
  const items = Array.from({ length: number % 3 }, (_, index) => ({ k: short(path + index) }));
  const page = Number(new URL(url).searchParams.get('c') ?? 0);
  return { body: { k: short(path), items, next: page < numberOf(path.replace(/\?.*/, '')) % 4 ? page + 1 : null } };
}

const records = Array.from({ length: 12 }, (_, index) => ({ id: index, k: String(index) }));

async function outcome(flow: string, options: FlowOptions) {
  const { rows, failures, ending, requests, credits } = await runFlow(flow, records, { ...options, forget: true });
  return { rows, failed: failures.map(({ record }) => record), ending, underWay: requests.length - credits };
}

/** Creates a clock that reports at every seventh check that the current turn of the event loop has lasted too long. */
function yieldingClock(): Clock {
  const clock = createFakeClock();
  let looks = 0;
  return { ...clock, yieldIfLong: () => (++looks % 7 === 0 ? clock.nextTurn() : undefined) };
}

test('random flows write the same records in the same order, however long their requests take', async () => {
  const setting = fc.record({
    seed: fc.integer({ min: 0, max: 1000 }),
    concurrency: fc.integer({ min: 1, max: 20 }),
    batch: fc.integer({ min: 1, max: 12 }),
  });
  await fc.assert(
    fc.asyncProperty(parts, setting, async (nodes, { seed, ...settings }) => {
      const flow = flowOf(nodes);
      const plain = await outcome(flow, { http: answerTo, concurrency: 1 });
      const http = (request: SentRequest) => ({ ...answerTo(request), afterMs: numberOf(`${seed} ${request.url}`) % 100 });
      expect(plain).toMatchObject({ ending: 'complete', underWay: 0 });
      expect(await outcome(flow, { http, ...settings })).toEqual(plain);
      expect(await outcome(flow, { http, ...settings, clock: yieldingClock() })).toEqual(plain);
    }),
    { numRuns: 5 },
  );
});

test('random flows never spend more than their credits, and write only finished records', async () => {
  const setting = fc.record({ credits: fc.integer({ min: 0, max: 300 }), concurrency: fc.integer({ min: 1, max: 20 }) });
  await fc.assert(
    fc.asyncProperty(parts, setting, async (nodes, { credits, concurrency }) => {
      const flow = flowOf(nodes);
      const plain = await outcome(flow, { http: answerTo, concurrency: 1 });
      const http = (request: SentRequest) => ({ ...answerTo(request), afterMs: numberOf(request.url) % 100 });
      const short = await runFlow(flow, records, { http, concurrency, credits, clock: yieldingClock(), forget: true });
      expect([short.requests.length, short.credits <= credits]).toEqual([short.credits, true]);
      expect(short.rows).toEqual(plain.rows.slice(0, short.rows.length));
      if (short.ending === 'complete') expect(short.rows).toEqual(plain.rows);
      else expect(short.ending).toBe('max-credits');
    }),
    { numRuns: 6 },
  );
});
