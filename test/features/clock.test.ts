import { describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { type FlowResult, runFlow } from '../helpers/run-flow.ts';

const isLate = 'now() > timestamp("2035-01-01T00:00:00Z")';
const url = 'url: https://api.example.com/';
const isLateIn = ({ requests }: FlowResult) => requests.map(({ body }) => /true/.test(String(body)));

/** For each place of an expression: the nodes, and what shows the value that the expression had. */
const places: readonly [string, string, (result: FlowResult) => unknown, { early: unknown; late: unknown }][] = [
  ['when', `- type: filter\n    when: ${isLate}\n    where: "false"`, ({ rows }) => rows.length, { early: 3, late: 0 }],
  ['filter', `- type: filter\n    where: ${isLate}`, ({ rows }) => rows.length, { early: 0, late: 3 }],
  ['set', `- type: set\n    fields: { late: { cel: '${isLate}' } }`, ({ rows }) => rows[0]?.late, { early: false, late: true }],
  [
    'loop.while',
    `- type: loop\n    while: ${isLate}\n    max: 2\n    nodes: [{ type: set, fields: { a: 1 } }]`,
    ({ failures }) => failures.length,
    { early: 0, late: 3 },
  ],
  [
    'poll.until',
    `- type: poll\n    until: ${isLate}\n    timeout: 5s\n    nodes: [{ type: http, ${url} }]`,
    ({ failures }) => failures.length,
    { early: 3, late: 0 },
  ],
  ['fail_when', `- type: http\n    ${url}\n    fail_when: ${isLate}`, ({ failures }) => failures.length, { early: 0, late: 3 }],
  [
    'retry_when',
    `- type: http\n    ${url}\n    retry_when: ${isLate}\n    retry: { max: 1 }`,
    ({ requests }) => requests.length,
    { early: 3, late: 6 },
  ],
  [
    'paginate.until',
    `- type: http\n    ${url}\n    paginate: { type: page, items: n, param: p, max: 2, until: '${isLate}' }\n    map: { a: n }`,
    ({ failures }) => failures.length,
    { early: 3, late: 0 },
  ],
  [
    'body',
    `- type: http\n    method: POST\n    ${url}\n    body: { late: { cel: '${isLate}' } }`,
    isLateIn,
    { early: [false, false, false], late: [true, true, true] },
  ],
  [
    'form',
    `- type: http\n    method: POST\n    ${url}\n    form: { late: { cel: '${isLate}' } }`,
    isLateIn,
    { early: [false, false, false], late: [true, true, true] },
  ],
  [
    'the body of a batch',
    `- type: http\n    method: POST\n    ${url}\n    batch: { size: 3, items: "{{n}}" }\n    body: { late: { cel: '${isLate}' }, ns: "{{items}}" }`,
    isLateIn,
    { early: [false], late: [true] },
  ],
];

describe('the now function in two runs at the same time', () => {
  const years = { early: 2030, late: 2040 };
  const run = (flow: string, year: number) => {
    let sent = 0;
    const http = (): FakeAnswer => ({ body: { n: [sent++] }, afterMs: 10 });
    return runFlow(flow, [{ n: 1 }, { n: 2 }, { n: 3 }], { http, clock: createFakeClock(Date.UTC(year, 0, 1)) });
  };
  const both = async (flow: string, read: (result: FlowResult) => unknown) => {
    const [early, late] = await Promise.all([run(flow, years.early), run(flow, years.late)]);
    return { early: read(early), late: read(late) };
  };

  test.each(places)("returns the time of the run's own clock in %s", async (_, node, read, expected) => {
    expect(await both(`nodes:\n  ${node}`, read)).toEqual(expected);
  });

  test("returns the time of the run's own clock in serial_by", async () => {
    const flow = `serial_by: { cel: '${isLate} ? "all" : string(n)' }\nnodes:\n  - type: http\n    ${url}`;
    const answersAtOnce = ({ requests }: FlowResult) => requests.filter(({ atMs }) => atMs === 0).length;
    expect(await both(flow, answersAtOnce)).toEqual({ early: 3, late: 1 });
  });
});
