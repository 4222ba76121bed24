import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import type { HttpRequest } from '../../src/core/ports.ts';
import type { ToolCall } from '../../src/core/tools.ts';
import type { AskedRequest } from '../../src/flow-tests/given-answers.ts';
import { recordedAnswer } from '../../src/flow-tests/recorder.ts';
import { type FakeAnswer, toResponse } from '../helpers/fake-answer.ts';

const http: AskedRequest = { names: [], headers: {}, unsigned: {} as HttpRequest };
const tool: AskedRequest = { names: [], headers: {}, unsigned: { kind: 'tool', arguments: { q: 1 } } as object as ToolCall };

const answered = (answer: FakeAnswer, flow = '') => recordedAnswer(toResponse(answer), http, flow);

describe("a server's response that is saved in a flow test", () => {
  test('is saved with its JSON as YAML, and without headers that have no effect', () => {
    expect(answered({ headers: { date: 'today', 'x-limit': '1' }, body: { a: [1] } })).toEqual({ body: { a: [1] } });
  });

  test('includes the status, and the headers that retries, pages and the map use', () => {
    const headers = { 'Retry-After': '3', link: '<b>', 'x-limit': '7', other: '1' };
    const wanted = { 'retry-after': '3', link: '<b>', 'x-limit': '7' };
    expect(answered({ status: 429, headers, body: { a: 1 } }, 'map: { n: $headers.X-Limit }')).toEqual({
      status: 429,
      headers: wanted,
      body: { a: 1 },
    });
  });

  test('is saved as text if it is not JSON, or if YAML would change its digits', () => {
    const xml = { headers: { 'content-type': 'text/xml' }, body: '<a/>' };
    expect(answered(xml)).toEqual(xml);
    const digits = { headers: { 'content-type': 'application/json' }, body: '{"a":1.50}' };
    expect(answered(digits)).toEqual(digits);
    expect(answered({ status: 204 })).toEqual({ status: 204 });
  });

  test('is saved with the arguments of the call if it comes from an MCP tool', () => {
    const answer = { kind: 'tool', isError: false, body: { a: 1 }, text: 'x' } as const;
    expect(recordedAnswer(answer, tool, '')).toEqual({ arguments: { q: 1 }, body: { a: 1 } });
    expect(recordedAnswer({ ...answer, isError: true }, tool, '')).toEqual({ arguments: { q: 1 }, error: 'x' });
  });

  test('becomes a simulated fault if no response arrived', () => {
    expect(recordedAnswer(new Failure('timeout', 'late'), tool, '')).toEqual({ arguments: { q: 1 }, fault: 'timeout' });
    expect(recordedAnswer(new Failure('network', 'x', { sent: false }), http, '')).toEqual({ fault: 'refused' });
    expect(recordedAnswer(new Failure('network', 'x'), http, '')).toEqual({ fault: 'reset' });
    expect(recordedAnswer(new Failure('network', 'x', { sent: false, code: 'unknown-host', details: {} }), http, '')).toEqual({
      fault: 'unknown_host',
    });
    expect(() => recordedAnswer(new Failure('network', 'a certificate', { sent: false, code: 'proxy', details: {} }), http, '')).toThrow(
      'a request that fails in this way cannot become a test: a certificate',
    );
    expect(() => recordedAnswer(new Failure('parse', 'too large'), http, '')).toThrow(
      'a request that fails in this way cannot become a test: too large',
    );
  });
});
