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

describe('a JSON body', () => {
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
  ])('is read as JSON if the type or the text says so: %s', (type) => {
    expect(read({ ...(type ? { type } : {}), body: ' {"a":1.0}\n' })).toEqual({ a: new ExactNumber('1.0') });
  });

  test('may begin with a byte order mark', () => {
    expect(read({ type: 'application/json', body: '\ufeff{"a":1}' })).toEqual({ a: 1 });
  });

  test('may use another charset', () => {
    const body = Buffer.from('{"a":"Gr\xf6\xdfe"}', 'latin1');
    expect(read({ type: 'application/json; charset=iso-8859-1', body })).toEqual({ a: 'Größe' });
  });

  test.each(['', ' \n'])('is absent if the body is %j, even if JSON was announced', (body) => {
    expect(read({ type: 'application/json', body })).toBeUndefined();
    expect(read({ status: 204, body })).toBeUndefined();
  });

  test('fails the record with its beginning if it was announced and is not JSON', () => {
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

  test('fails a record whose map looks into it if it is a page of HTML', () => {
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

  test('fails in every mode if its bytes are not UTF-8', () => {
    const body = Buffer.from('{"a":"\xff"}', 'latin1');
    for (const mode of ['auto', 'json', 'text'] as const) {
      expect(() => read({ type: 'application/json', mode, body })).toThrow(
        expect.objectContaining({ kind: 'parse', message: 'the body is not valid utf-8 (9 bytes of application/json)' }),
      );
    }
  });

  test('fails with an unknown charset', () => {
    expect(() => read({ type: 'application/json; charset=klingon', body: '{}' })).toThrow(
      'the charset of "application/json; charset=klingon" is not known',
    );
  });

  test('fails if it is nested too deep', () => {
    expect(() => read({ type: 'application/json', body: '['.repeat(100_000) + ']'.repeat(100_000) })).toThrow(
      expect.objectContaining({ kind: 'parse', message: expect.stringContaining('nested more than 1000 deep') }),
    );
  });
});

describe('JSON that was cut off', () => {
  const cutOff = ['{"a": 1', '{"a', '{"a":', '{', '[1,', '["x\\', '[-', '[1.', '[tru', '{"a": 1,'];

  test.each(cutOff)('%s is retried if the connection closed without announcing the end', (body) => {
    expect(() => read({ type: 'application/json', body, endedByClose: true })).toThrow(
      expect.objectContaining({
        kind: 'network',
        retryable: true,
        message: expect.stringContaining('the connection closed in the middle of the JSON'),
      }),
    );
  });

  test.each(cutOff)('%s is a parse failure if the body came whole', (body) => {
    expect(() => read({ type: 'application/json', body })).toThrow(expect.objectContaining({ kind: 'parse', retryable: false }));
  });

  test.each(['<html>', '{"a":1,}', '{a:1}', "{'a':1}", '{"a":1} x', '[1 2]'])(
    '%s is a parse failure even so: it is wrong before its end',
    (body) => {
      expect(() => read({ type: 'application/json', body, endedByClose: true })).toThrow(expect.objectContaining({ kind: 'parse' }));
    },
  );
});

describe('a text body', () => {
  test.each(['hello', '<html>', '{"a":', 'true story', '12 monkeys', 'nullify', '007', '-'])(
    '%s is a text when nobody looks into it',
    (body) => {
      expect(read({ type: 'text/plain', needsJson: false, body })).toBe(body);
    },
  );

  test('stays a text in mode text, even if it is JSON', () => {
    expect(read({ type: 'application/json', mode: 'text', body: '{"a": 1.0}\n' })).toBe('{"a": 1.0}\n');
    expect(read({ mode: 'text', body: '' })).toBeUndefined();
  });

  test('may be lines of JSON', () => {
    expect(read({ type: 'application/x-ndjson', needsJson: false, body: '{"a":1}\n{"a":2}\n' })).toBe('{"a":1}\n{"a":2}\n');
  });
});

describe('the message of a server', () => {
  test('follows the status, on one line', () => {
    expect(answerMessage(toResponse({ status: 404 }))).toBe('the server answered 404');
    expect(answerMessage(toResponse({ status: 422, body: { error: 'no\nsuch  user' } }))).toBe(
      'the server answered 422: {"error":"no\\nsuch user"}',
    );
    expect(answerMessage(toResponse({ status: 500, body: 'a\r\nb\t c' }))).toBe('the server answered 500: a b c');
    expect(answerMessage(toResponse({ status: 500, body: Buffer.from([0xff, 0x41]) }))).toBe('the server answered 500: \ufffdA');
  });

  test('is short, and never half a character', () => {
    expect(excerpt('x'.repeat(200))).toBe('x'.repeat(200));
    expect(excerpt('x'.repeat(201))).toBe(`${'x'.repeat(200)}...`);
    expect(excerpt(`${'x'.repeat(199)}😀😀`).isWellFormed()).toBe(true);
  });

  test('ends in dots wherever it was cut', () => {
    expect(excerpt(`${' '.repeat(395)}a secret`)).toBe('a sec...');
    expect(excerpt(`a${' '.repeat(500)}`)).toBe('a...');
    for (const space of [' ', '\u3000'])
      expect(answerMessage(toResponse({ status: 500, body: `a${space.repeat(3000)}b` }))).toBe('the server answered 500: a...');
  });

  test('cannot control a terminal', () => {
    expect(cleaned('a\u001b[2Jb\u001b]0;title\u0007c\u0000d\u009be\u202ef\u2028g\th\ni')).toBe('ab]0;titlecdefg\th\ni');
  });
});

test('JSON is announced by the node or by the content type, unless the node asks for text', () => {
  const announced = (mode: ResponseMode, type: string) => announcesJson(toResponse({ headers: { 'content-type': type } }), mode);
  expect(['application/json', 'application/problem+json', 'text/html'].map((type) => announced('auto', type))).toEqual([true, true, false]);
  expect([announced('json', 'text/html'), announced('text', 'application/json')]).toEqual([true, false]);
});
