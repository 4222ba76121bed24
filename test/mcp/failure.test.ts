import { ProtocolError, SdkError, SdkErrorCode, UnauthorizedError } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import { toFailure } from '../../src/mcp/failure.ts';

const context = { connection: 'crm', timeoutMs: 5000, wasSent: true, explanation: '' };

describe('the failure of an MCP call', () => {
  test.each<[string, Error, object]>([
    ['a timeout', new SdkError(SdkErrorCode.RequestTimeout, 'late'), { kind: 'timeout', retryable: true, sent: true }],
    ['a refusal by the server', new ProtocolError(-32_602, 'no such id'), { kind: 'tool', retryable: false }],
    [
      'a result that does not match the description of the tool',
      new ProtocolError(-32_602, 'does not match output schema'),
      { kind: 'parse' },
    ],
    ['a response that does not match the protocol', new SdkError(SdkErrorCode.InvalidResult, 'bad'), { kind: 'parse' }],
    ['a feature that the client does not have', new SdkError(SdkErrorCode.CapabilityNotSupported, 'sampling'), { kind: 'tool' }],
    ['a missing login', new UnauthorizedError('who?'), { kind: 'http', status: 401, sent: false }],
    ['a response that is not JSON', new SyntaxError('Unexpected token <'), { kind: 'parse', retryable: false }],
    ['a response that is truncated JSON', new SyntaxError('Unexpected end of JSON input'), { kind: 'network', retryable: true }],
    ['a lost connection', new Error('reset'), { kind: 'network', retryable: true, sent: true }],
    ['a missing program', Object.assign(new Error('spawn'), { code: 'ENOENT' }), { kind: 'network', retryable: false }],
  ])('has the right class if its cause is %s', (_, error, expected) => {
    const failure = toFailure(error, context);
    expect(failure).toMatchObject(expected);
    expect(failure.cause).toBe(error);
  });

  test("is automate's own Failure if the causes contain one, however deeply nested", () => {
    const own = new Failure('request', 'refused');
    expect(toFailure(own, context)).toBe(own);
    expect(toFailure(new Error('a', { cause: new Error('b', { cause: own }) }), context)).toBe(own);
    expect(toFailure(Object.assign(new Error('a'), { data: { cause: own } }), context)).toBe(own);
  });

  test('says why a local server ended', () => {
    const ended = { ...context, wasSent: false, explanation: 'it ended with exit code 3' };
    expect(toFailure(new Error('closed'), ended).message).toBe('no connection to the MCP server "crm": it ended with exit code 3');
    expect(toFailure(new SdkError(SdkErrorCode.RequestTimeout, 'late'), ended).message).toBe(
      'the MCP server "crm" was not ready within 5 s (start_timeout): it ended with exit code 3',
    );
  });

  test('lists the problems of an invalid result with their paths', () => {
    const issues = JSON.stringify([{ code: 'invalid_type', path: ['content', 0], message: 'Invalid input: expected object' }], null, 2);
    const { message } = toFailure(new SdkError(SdkErrorCode.InvalidResult, `Invalid result: ${issues}`), context);
    expect(message).toBe('the answer does not follow the protocol: Invalid result: content.0: expected object');
    expect(toFailure(new Error(issues), context).message).toBe(
      'the connection to the MCP server "crm" is lost: content.0: expected object',
    );
  });
});
