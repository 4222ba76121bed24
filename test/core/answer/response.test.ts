import { describe, expect, test } from 'vitest';
import { announcesJson, answerMessage, cleaned, excerpt, type ResponseMode, readBody } from '../../../src/core/answer/response.ts';
import { ExactNumber } from '../../../src/core/value/value.ts';
import { type FakeAnswer, toResponse } from '../../helpers/fake-answer.ts';

interface Reading extends FakeAnswer {
  readonly type?: string;
  readonly mode?: ResponseMode;
  readonly needsJson?: boolean;
}

function read({ type, mode = 'auto', needsJson = true, ...answer }: Reading) {
  return readBody(toResponse({ ...answer, ...(type === undefined ? {} : { headers: { 'Content-Type': type } }) }), mode, needsJson);
}

describe('a response body that should be JSON', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/vnd.api+json',
    'application/problem+json; charset=utf8',
    'text/json',
    'text/plain',
    'text/html',
    undefined,
  ])('is parsed if the content type or the body looks like JSON: %s', (type) => {
    expect(read({ ...(type ? { type } : {}), body: ' {"a":1.0}\n' })).toEqual({ a: new ExactNumber('1.0') });
  });

  test('can begin with a byte order mark (BOM)', () => {
    expect(read({ type: 'application/json', body: '\ufeff{"a":1}' })).toEqual({ a: 1 });
  });

  test('can have a charset other than UTF-8', () => {
    const body = Buffer.from('{"a":"Gr\xf6\xdfe"}', 'latin1');
    expect(read({ type: 'application/json; charset=iso-8859-1', body })).toEqual({ a: 'Größe' });
  });

  test.each(['windows-1252', 'iso-8859-1', 'latin1', 'us-ascii'])(
    'can contain the euro sign and quotation marks of windows-1252 (%s)',
    (charset) => {
      const body = Buffer.from('{"a":"\x935 \x80\x94 \x81\xff"}', 'latin1');
      expect(read({ type: `application/json; charset=${charset}`, body })).toEqual({ a: '“5 €” \u0081ÿ' });
      expect(read({ type: `text/plain;charset=${charset}`, mode: 'text', body })).toBe('{"a":"“5 €” \u0081ÿ"}');
    },
  );

  test.each(['', ' \n'])('is undefined if it is empty or blank (%j), even if the content type is JSON', (body) => {
    expect(read({ type: 'application/json', body })).toBeUndefined();
    expect(read({ status: 204, body })).toBeUndefined();
  });

  test('fails the record, with an excerpt in the message, if it is not JSON', () => {
    const html = `<html>\n<h1>\u001b[31mOops</h1>${'x'.repeat(500)}`;
    for (const mode of ['auto', 'json'] as const) {
      expect(() => read({ type: 'application/json', mode, needsJson: false, body: html })).toThrow(
        expect.objectContaining({
          kind: 'parse',
          status: 200,
          retryable: false,
          message: `expected JSON, found invalid JSON as application/json: <html> <h1>Oops</h1>${'x'.repeat(180)}...`,
        }),
      );
    }
  });

  test('fails the record if the map needs JSON but the body is HTML, NDJSON or plain text', () => {
    expect(() => read({ type: 'text/html', body: '<html>' })).toThrow('expected JSON, found text/html: <html>');
    expect(() => read({ type: 'application/json', body: '{\n"a": 1\n}\n{"a": 2}\n' })).toThrow(
      'expected JSON; a second value begins at line 4 (NDJSON?), found application/json: { "a": 1 } {"a": 2}',
    );
    expect(() => read({ type: 'application/json', body: '{"a": 1} {"a": 2}' })).toThrow(
      'expected JSON, found invalid JSON as application/json: {',
    );
    expect(() => read({ type: 'application/json', body: '1\n<html>' })).toThrow(
      'expected JSON, found invalid JSON as application/json: 1 <html>',
    );
    expect(() => read({ body: 'hello' })).toThrow('expected JSON, found no content type: hello');
  });

  test('fails the record in every response mode if its bytes are not valid UTF-8', () => {
    const body = Buffer.from('{"a":"\xff"}', 'latin1');
    for (const mode of ['auto', 'json', 'text'] as const) {
      expect(() => read({ type: 'application/json', mode, body })).toThrow(
        expect.objectContaining({
          kind: 'parse',
          message:
            'the body is not valid utf-8 (9 bytes of application/json)\nif it has a different charset, set it in the node or its connection: charset: windows-1252',
        }),
      );
    }
  });

  test('is no text if it has zero bytes, and the message then names save instead of a charset', () => {
    const body = Buffer.from('\x1f\x8b\x08\0\0\0\0\0\0\x03', 'latin1');
    expect(() => read({ type: 'application/json', body })).toThrow(
      'the body is not valid utf-8 (10 bytes of application/json)\nit is no text; to write it to a file, add to the node: save: { to: PATH }',
    );
  });

  test('fails the record if its charset is unknown', () => {
    expect(() => read({ type: 'application/json; charset=klingon', body: '{}' })).toThrow(
      'the charset of "application/json; charset=klingon" is not supported',
    );
  });

  test('fails the record if it is nested too deeply', () => {
    expect(() => read({ type: 'application/json', body: '['.repeat(100_000) + ']'.repeat(100_000) })).toThrow(
      expect.objectContaining({ kind: 'parse', message: expect.stringContaining('nested more than 1000 deep') }),
    );
  });
});

describe('a JSON body that might be truncated', () => {
  const cutOff = ['{"a": 1', '{"a', '{"a":', '{', '[1,', '["x\\', '[-', '[1.', '[tru', '{"a": 1,'];

  test.each(cutOff)('causes a retry if it ended only because the connection closed: %s', (body) => {
    expect(() => read({ type: 'application/json', body, endedByClose: true })).toThrow(
      expect.objectContaining({
        kind: 'network',
        retryable: true,
        message: expect.stringContaining('the connection was closed in the middle of the JSON'),
      }),
    );
  });

  test.each(cutOff)('is a parse failure if the whole body has arrived: %s', (body) => {
    expect(() => read({ type: 'application/json', body })).toThrow(expect.objectContaining({ kind: 'parse', retryable: false }));
  });

  test.each(['<html>', '{"a":1,}', '{a:1}', "{'a':1}", '{"a":1} x', '[1 2]'])(
    'is a parse failure, despite the closed connection, if more bytes could not make it valid: %s',
    (body) => {
      expect(() => read({ type: 'application/json', body, endedByClose: true })).toThrow(expect.objectContaining({ kind: 'parse' }));
    },
  );
});

describe('a body that is not parsed as JSON', () => {
  test.each(['hello', '<html>', '{"a":', 'true story', '12 monkeys', 'nullify', '007', '-'])(
    'is a string if the map reads no path in the body: %s',
    (body) => {
      expect(read({ type: 'text/plain', needsJson: false, body })).toBe(body);
    },
  );

  test('remains a string if the mode is "text", even if it contains JSON', () => {
    expect(read({ type: 'application/json', mode: 'text', body: '{"a": 1.0}\n' })).toBe('{"a": 1.0}\n');
    expect(read({ mode: 'text', body: '' })).toBeUndefined();
  });

  test('can consist of several lines of JSON', () => {
    expect(read({ type: 'application/x-ndjson', needsJson: false, body: '{"a":1}\n{"a":2}\n' })).toBe('{"a":1}\n{"a":2}\n');
  });
});

describe("the server's own error message", () => {
  test('is appended to the status, on one line', () => {
    expect(answerMessage(toResponse({ status: 404 }))).toBe('the server answered 404');
    expect(answerMessage(toResponse({ status: 422, body: { error: 'no\nsuch  user' } }))).toBe(
      'the server answered 422: {"error":"no\\nsuch user"}',
    );
    expect(answerMessage(toResponse({ status: 500, body: 'a\r\nb\t c' }))).toBe('the server answered 500: a b c');
    expect(answerMessage(toResponse({ status: 500, body: Buffer.from([0xff, 0x41]) }))).toBe('the server answered 500: \ufffdA');
  });

  test('is shortened without splitting a character', () => {
    expect(excerpt('x'.repeat(200))).toBe('x'.repeat(200));
    expect(excerpt('x'.repeat(201))).toBe(`${'x'.repeat(200)}...`);
    expect(excerpt(`${'x'.repeat(199)}😀😀`).isWellFormed()).toBe(true);
  });

  test('ends with three dots wherever it was shortened', () => {
    expect(excerpt(`${' '.repeat(395)}a secret`)).toBe('a sec...');
    expect(excerpt(`a${' '.repeat(500)}`)).toBe('a...');
    for (const space of [' ', '\u3000'])
      expect(answerMessage(toResponse({ status: 500, body: `a${space.repeat(3000)}b` }))).toBe('the server answered 500: a...');
  });

  test('never contains terminal control sequences', () => {
    expect(cleaned('a\u001b[2Jb\u001b]0;title\u0007c\u0000d\u009be\u202ef\u2028g\th\ni')).toBe('ab]0;titlecdefg\th\ni');
  });
});

test("a response should be JSON if the node's mode is json, or if the mode is auto and the content type is JSON", () => {
  const announced = (mode: ResponseMode, type: string) => announcesJson(toResponse({ headers: { 'content-type': type } }), mode);
  expect(['application/json', 'application/problem+json', 'text/html'].map((type) => announced('auto', type))).toEqual([true, true, false]);
  expect([announced('json', 'text/html'), announced('text', 'application/json')]).toEqual([true, false]);
});
