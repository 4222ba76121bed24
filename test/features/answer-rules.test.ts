import { describe, expect, test } from 'vitest';
import type { ToolAnswer, Tools } from '../../src/core/tools.ts';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { flowProblems, onOneLine, planFor, shown } from '../helpers/flow-problems.ts';
import { inTurn, origin, paging } from '../helpers/paging.ts';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

const node = (rules: string) => `nodes:\n  - { type: http, url: "${origin}/{{id}}", ${rules} }\n`;

const failed = { errors: [{ message: 'no such user', code: 'RATE_LIMITED' }], data: null };
const good = { data: { name: 'Ann' } };

/** Runs a flow whose http node has these rules over one record. The server responds with `answers` in turn. */
const answered = (rules: string, answers: readonly FakeAnswer[], options: FlowOptions = {}) =>
  runFlow(node(rules), [{ id: 1 }], { http: inTurn(...answers), ...options });

describe('an http node with fail_when', () => {
  test('fails the record without a retry if the condition is true', async () => {
    const { failures, requests, rows } = await answered('fail_when: has(body.errors), map: { name: data.name }', [{ body: failed }]);
    expect(rows).toEqual([]);
    expect(requests).toHaveLength(1);
    expect(failures).toMatchObject([{ record: 1, class: 'answer', status: 200, attempts: 1 }]);
    expect(failures[0]?.message).toBe(`fail_when is true: has(body.errors), found ${JSON.stringify(failed)}`);
  });

  test('accepts the response if the condition is false', async () => {
    const { rows } = await answered('fail_when: has(body.errors), map: { name: data.name }', [{ body: good }]);
    expect(rows).toEqual([{ id: 1, name: 'Ann' }]);
  });

  test.each([
    ['status == 201', { status: 201 }],
    ['headers.etag == "a" && headers["x-kind"] == "b"', { headers: { ETag: 'a', 'X-Kind': 'b' } }],
    ['record.id == 1 && body.id != record.id', { body: { id: 2 } }],
    ['body == "error"', { body: 'error' }],
    ['body == null', {}],
    ['!body.ok', { body: { ok: false } }],
    ['body.list.exists(x, x.bad)', { body: { list: [{ bad: false }, { bad: true }] } }],
    ['int(body.code) >= 400', { body: { code: '404' } }],
  ])('can use the response and the record in the condition: %s', async (rule, answer) => {
    const { failures } = await answered(`fail_when: '${rule}'`, [answer]);
    expect(failures).toMatchObject([{ class: 'answer', status: 'status' in answer ? answer.status : 200 }]);
  });

  test('fails the record if the condition cannot be evaluated', async () => {
    const { failures } = await answered('fail_when: body.ok == false', [{ body: {} }]);
    expect(failures).toMatchObject([{ class: 'answer', message: 'fail_when: the expression cannot be evaluated: there is no key "ok"' }]);
  });

  test('does not evaluate the condition for a response with an error status', async () => {
    const { failures } = await answered('fail_when: "true"', [{ status: 404, body: failed }]);
    expect(failures).toMatchObject([{ class: 'http', status: 404 }]);
  });

  test('evaluates the condition for every status that counts as success', async () => {
    const { failures } = await answered('success: [404], fail_when: has(body.errors)', [{ status: 404, body: failed }]);
    expect(failures).toMatchObject([{ class: 'answer', status: 404 }]);
  });

  test('passes the failed record on if on_error is "keep"', async () => {
    const { rows } = await answered('fail_when: has(body.errors), on_error: keep, map: { name: data.name }', [{ body: failed }]);
    expect(rows).toMatchObject([{ id: 1, _error: { class: 'answer', status: 200 } }]);
  });
});

describe('an http node with retry_when', () => {
  const rule = 'retry_when: \'body.errors[0].code == "RATE_LIMITED"\', map: { name: data.name }';

  test('retries with its usual backoff if the condition is true', async () => {
    const { rows, waitedMs, requests, events } = await answered(rule, [{ body: failed }, { body: failed }, { body: good }]);
    expect(rows).toEqual([{ id: 1, name: 'Ann' }]);
    expect(requests).toHaveLength(3);
    expect(waitedMs).toBe(3000);
    expect(events.filter(({ type }) => type === 'call-retried')).toMatchObject([{ class: 'answer' }, { class: 'answer' }]);
  });

  test('waits for as long as Retry-After requires before it retries', async () => {
    const { waitedMs } = await answered(rule, [{ body: failed, headers: { 'Retry-After': '7' } }, { body: good }]);
    expect(waitedMs).toBe(7000);
  });

  test('retries even if retry.on is empty', async () => {
    const { requests } = await answered(`retry: { on: [] }, ${rule}`, [{ body: failed }, { body: good }]);
    expect(requests).toHaveLength(2);
  });

  test('fails the record with the class "answer" when no retries are left', async () => {
    const { failures, requests } = await answered(`retry: { max: 1 }, ${rule}`, [{ body: failed }]);
    expect(requests).toHaveLength(2);
    expect(failures).toMatchObject([{ class: 'answer', status: 200, attempts: 2 }]);
  });

  test('treats a condition that cannot be evaluated as false', async () => {
    const { rows } = await answered(rule, [{ body: good }]);
    expect(rows).toEqual([{ id: 1, name: 'Ann' }]);
  });

  test('evaluates retry_when before fail_when', async () => {
    const { rows } = await answered(`fail_when: has(body.errors), ${rule}`, [{ body: failed }, { body: good }]);
    expect(rows).toEqual([{ id: 1, name: 'Ann' }]);
  });

  test('retries even if the response is not JSON and the map needs JSON', async () => {
    const { rows, failures } = await answered('retry_when: status == 202, map: { name: data.name }', [
      { status: 202, body: 'pending' },
      { body: good },
    ]);
    expect(failures).toEqual([]);
    expect(rows).toEqual([{ id: 1, name: 'Ann' }]);
  });
});

describe('an http node with error_message', () => {
  const rules = 'error_message: "errors[0].message"';

  test.each([
    ['fail_when', `fail_when: has(body.errors), ${rules}`, { body: failed }],
    ['retry_when', `retry_when: has(body.errors), retry: { max: 0 }, ${rules}`, { body: failed }],
    ['an error status', rules, { status: 404, body: failed }],
    ['a header', 'error_message: $headers.x-reason', { status: 400, headers: { 'X-Reason': 'no such user' } }],
  ])('takes the failure message from the response that caused the failure: %s', async (_name, written, answer) => {
    expect((await answered(written, [answer])).failures).toMatchObject([{ message: 'no such user' }]);
  });

  test.each([[{ errors: [] }], [{ errors: [{ message: null }] }], ['<html>'], [undefined]])(
    'uses its usual failure message if the path finds nothing in the response: %j',
    async (body) => {
      const { failures } = await answered(rules, [{ status: 404, body }]);
      expect(failures[0]?.message).toMatch(/^the server answered 404/);
    },
  );
});

describe('a node with pages and fail_when or retry_when', () => {
  test('fails the record if a later page fulfils fail_when, and names the page in the message', async () => {
    const flow = paging('type: cursor, path: next, param: c', ', fail_when: "has(body.errors) && record.id == 1"');
    const pages = [{ body: { items: [{ n: 1 }], next: 2 } }, { body: failed }];
    const { failures, rows } = await runFlow(flow, [{ id: 1 }], { http: inTurn(...pages) });
    expect(rows).toEqual([]);
    expect(failures).toMatchObject([{ class: 'answer', message: expect.stringMatching(/^page 2: fail_when is true/) }]);
  });

  test('requests a page once more if the page fulfils retry_when', async () => {
    const flow = paging('type: cursor, path: next, param: c', ', retry_when: has(body.errors)');
    const pages = [{ body: failed }, { body: { items: [{ n: 1 }], next: null } }];
    expect((await runFlow(flow, [{ id: 1 }], { http: inTurn(...pages) })).rows).toEqual([{ id: 1, n: 1 }]);
  });
});

describe('a node with batches and fail_when or retry_when', () => {
  const batched = (rules: string) => `nodes:
  - type: http
    method: POST
    url: ${origin}/lookup
    batch: { items: "{{id}}", match: { field: id, path: "results[].id" } }
    body: { ids: "{{items}}" }
    map: { name: "results[].name" }
    ${rules}
`;

  test('fails all records of the batch without halving it if fail_when is true', async () => {
    const { failures, requests } = await runFlow(batched('fail_when: has(body.errors)'), [{ id: 1 }, { id: 2 }, { id: 3 }], {
      http: () => ({ body: failed }),
    });
    expect(requests).toHaveLength(1);
    expect(failures.map(({ record, class: kind }) => [record, kind])).toEqual([
      [1, 'answer'],
      [2, 'answer'],
      [3, 'answer'],
    ]);
  });

  test('sends the same batch once more if retry_when is true', async () => {
    const results = [{ id: 1, name: 'Ann' }];
    const { rows } = await runFlow(batched('retry_when: has(body.errors)'), [{ id: 1 }], {
      http: inTurn({ body: failed }, { body: { results } }),
    });
    expect(rows).toEqual([{ id: 1, name: 'Ann' }]);
  });

  test.each(['fail_when', 'retry_when'])('cannot refer to the record in %s', (name) => {
    const [problem, ...others] = flowProblems(batched(`${name}: body.id != record.id`));
    expect(others).toEqual([]);
    expect(shown(problem as NonNullable<typeof problem>).split('\n')).toEqual([
      `8:${18 + name.length} a batch has one answer for all its records; expected a condition that does not use record`,
      `    ${name}: body.id != record.id`,
      `${' '.repeat(4 + name.length + 2 + 11)}${'^'.repeat(9)}`,
    ]);
  });
});

describe('the cache of a node with fail_when or retry_when', () => {
  test('does not store a response that these rules reject', async () => {
    const { rows, failures, requests } = await runFlow(
      `nodes: [{ type: http, url: "${origin}/", cache: 1h, concurrency: 1, fail_when: has(body.errors), map: { name: data.name } }]`,
      [{ id: 1 }, { id: 2 }, { id: 3 }],
      { http: (_, index) => ({ body: index === 0 ? failed : good }) },
    );
    expect(requests.length).toBeLessThanOrEqual(2);
    expect(rows.length + failures.length).toBe(3);
    const again = await runFlow(
      `nodes:
  - { type: http, url: "${origin}/", cache: 1h, fail_when: has(body.errors), on_error: keep }
  - { type: http, url: "${origin}/", cache: 1h, fail_when: has(body.errors), map: { name: data.name } }
`,
      [{ id: 1 }],
      { http: inTurn({ body: failed }, { body: good }) },
    );
    expect(again.requests).toHaveLength(2);
    expect(again.rows).toMatchObject([{ id: 1, name: 'Ann' }]);
  });

  test('does not share a response with a node that has other rules', async () => {
    const flow = `nodes:
  - { type: http, url: "${origin}/", cache: 1h }
  - { type: http, url: "${origin}/", cache: 1h, fail_when: has(body.errors) }
`;
    const { requests, failures } = await runFlow(flow, [{ id: 1 }], { http: () => ({ body: failed }) });
    expect(requests).toHaveLength(2);
    expect(failures).toMatchObject([{ node: 'http-2', class: 'answer' }]);
  });

  test('stores a response for each record separately if a rule refers to the record', async () => {
    const flow = `nodes: [{ type: http, url: "${origin}/", cache: 1h, fail_when: record.id == body.id }]`;
    const { rows, failures } = await runFlow(flow, [{ id: 1 }, { id: 2 }], { http: () => ({ body: { id: 1 } }) });
    expect(rows).toEqual([{ id: 2 }]);
    expect(failures).toMatchObject([{ record: 1, class: 'answer' }]);
  });
});

describe('an MCP node with fail_when or retry_when', () => {
  const flow = (rules: string) =>
    `connections: { s: { type: mcp, url: https://s.example.com/mcp } }\nnodes: [{ type: mcp, connection: s, tool: t, ${rules} }]\n`;

  const run = (rules: string, ...answers: readonly (readonly [body: ToolAnswer['body'], isError?: boolean])[]) => {
    let calls = 0;
    const tools: Tools = {
      async call() {
        const [body, isError = false] = answers[Math.min(calls++, answers.length - 1)] as (typeof answers)[number];
        return { kind: 'tool', isError, body, text: JSON.stringify(body) };
      },
      server: () => Promise.reject(new Error('not asked for')),
      abort: () => {},
    };
    return runFlow(flow(rules), [{ id: 1 }], { tools });
  };

  test("fails the record if fail_when is true, with the message from the tool's result", async () => {
    const { failures } = await run('fail_when: "!body.ok && record.id == 1", error_message: why', [{ ok: false, why: 'closed' }]);
    expect(failures).toMatchObject([{ class: 'answer', status: undefined, message: 'closed' }]);
  });

  test('calls the tool once more if retry_when is true', async () => {
    const { rows, waitedMs } = await run('retry_when: body.busy, map: [n]', [{ busy: true }], [{ busy: false, n: 1 }]);
    expect(rows).toEqual([{ id: 1, n: 1 }]);
    expect(waitedMs).toBe(1000);
  });

  test('takes the failure message from the path in error_message', async () => {
    const { failures } = await run('error_message: why', [{ why: 'closed' }, true]);
    expect(failures).toMatchObject([{ class: 'tool', message: 'closed' }]);
  });

  test("refuses conditions that use status or headers, because a tool's result has neither", () => {
    expect(flowProblems(flow('fail_when: status == 200')).map(({ message }) => message)).toEqual([
      'no variable "status"; expected body or record\nwrite body.status for a part of the answer, or record.status for a field of the record',
    ]);
    expect(flowProblems(flow('error_message: $status')).map(({ message }) => message)).toEqual([
      'a tool\'s answer has no "$status"; expected a path into it, or $body for all of it',
    ]);
  });
});

describe('the check of fail_when and retry_when', () => {
  test.each([
    ['fail_when: has(errors)', 'errors)', 'no variable "errors"; expected status, headers, body or record'],
    [
      'fail_when: \'status == "200"\'',
      'status',
      'not a CEL expression: no such overload: int == string (text and numbers do not mix: convert one of them, as in int("5") or string(5))',
    ],
    ['fail_when: body.a ==', '', 'not a CEL expression: expected a value, found the end'],
    ['fail_when: status', 'status', 'expected a condition that is true or false, found one that gives int'],
    ['retry_when: 5', '5', 'expected a CEL expression such as has(body.errors), found 5'],
    ['retry_when: true && foo.bar', 'foo', 'no variable "foo"; expected status, headers, body or record'],
    ['fail_when: 1 == 2', '1', 'this condition is never true; expected a condition on status, headers or body'],
    ['retry_when: "false"', '"false"', 'this condition is never true; expected a condition on status, headers or body'],
    ['error_message: [a]', '[a]', 'expected a string, found a list'],
    ['error_message: "e[].message"', '"e[]', 'expected a path to one string, found "e[].message", which leads to several'],
    [
      'error_message: $nope',
      '$nope',
      'expected $status, $headers.NAME or $body, or $url, $at, $ms, $attempts or $cached in a map, found "$nope"; for a field with that name, write ["$nope"]',
    ],
    ['fail_wen: "true"', 'fail_wen', 'unknown key "fail_wen"; did you mean "fail_when"?'],
  ])('reports an invalid condition with its position in the flow: %s', (rule, place, message) => {
    const problems = flowProblems(`nodes:\n  - type: http\n    url: ${origin}\n    ${rule}\n`);
    const [{ source = { text: '', caret: 0 } } = {}] = problems;
    expect(problems.map(onOneLine)).toEqual([`4:${source.caret + 1} ${message}`]);
    expect(source.text.slice(source.caret).startsWith(place)).toBe(true);
  });

  test('warns if no response with a success status can make the condition true', () => {
    const warned = (rule: string) =>
      planFor(`nodes: [{ type: http, url: ${origin}, ${rule} }]`)
        .warnings()
        .map(({ message }) => message);
    const used = (success = '2xx') =>
      `this condition is never true: it is used only for answers with a status in success (${success}), and other answers fail anyway\n`;
    const leave = 'leave it out, or if the record should not fail, add the status to success';
    expect(warned('fail_when: status >= 500')).toEqual([used() + leave]);
    expect(warned('fail_when: status == 404, success: [200, 201]')).toEqual([used('200, 201') + leave]);
    expect(warned('fail_when: status >= 500, success: [2xx, 5xx]')).toEqual([]);
    const retry = 'to retry such answers: retry: { on: [429, 5xx, timeout, network, ';
    expect(warned('retry_when: status == 404 || status == 503')).toEqual([`${used()}${retry}404] }`]);
    expect(warned('retry_when: status >= 400')).toEqual([`${used()}${retry}4xx] }`]);
    expect(warned('retry_when: status == 503')).toEqual([`${used()}leave it out: retry.on has these statuses already`]);
    expect(warned('fail_when: status == 20')).toEqual(['this condition is never true: no status from 100 to 599 fits it']);
  });

  test('refuses both options in nodes that make no calls', () => {
    expect(flowProblems('nodes: [{ type: set, fields: { a: 1 }, fail_when: "true" }]').map(onOneLine)).toEqual([
      expect.stringMatching(/^1:\d+ unknown key "fail_when"/),
    ]);
  });
});
