import { ProtocolError, SdkError, SdkErrorCode, UnauthorizedError } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../../src/core/failure.ts';
import { toFailure } from '../../../src/io/mcp/failure.ts';

const context = { connection: 'crm', timeoutMs: 5000, wasSent: true, explanation: '' };

describe('failure of an MCP call', () => {
  test.each<[string, Error, object]>([
    ['a timeout', new SdkError(SdkErrorCode.RequestTimeout, 'late'), { kind: 'timeout', retryable: true, sent: true }],
    ['a refusal by the server', new ProtocolError(-32_602, 'no such id'), { kind: 'tool', retryable: false }],
    ['an answer unlike the tool describes', new ProtocolError(-32_602, 'does not match output schema'), { kind: 'parse' }],
    ['an answer unlike the protocol', new SdkError(SdkErrorCode.InvalidResult, 'bad'), { kind: 'parse' }],
    ['a feature the client lacks', new SdkError(SdkErrorCode.CapabilityNotSupported, 'sampling'), { kind: 'tool' }],
    ['a missing login', new UnauthorizedError('who?'), { kind: 'http', status: 401, sent: false }],
    ['no JSON', new SyntaxError('Unexpected token <'), { kind: 'parse', retryable: false }],
    ['JSON that is cut off', new SyntaxError('Unexpected end of JSON input'), { kind: 'network', retryable: true }],
    ['a lost connection', new Error('reset'), { kind: 'network', retryable: true, sent: true }],
    ['a missing program', Object.assign(new Error('spawn'), { code: 'ENOENT' }), { kind: 'network', retryable: false }],
  ])('has the class of %s', (_, error, expected) => {
    const failure = toFailure(error, context);
    expect(failure).toMatchObject(expected);
    expect(failure.cause).toBe(error);
  });

  test('is a Failure of ours, at any depth of the causes', () => {
    const own = new Failure('request', 'refused');
    expect(toFailure(own, context)).toBe(own);
    expect(toFailure(new Error('a', { cause: new Error('b', { cause: own }) }), context)).toBe(own);
    expect(toFailure(Object.assign(new Error('a'), { data: { cause: own } }), context)).toBe(own);
  });

  test('explains the end of a local server', () => {
    const ended = { ...context, wasSent: false, explanation: 'it ended with exit code 3' };
    expect(toFailure(new Error('closed'), ended).message).toBe('no connection to the MCP server "crm": it ended with exit code 3');
    expect(toFailure(new SdkError(SdkErrorCode.RequestTimeout, 'late'), ended).message).toBe(
      'the MCP server "crm" is not ready within 5 s (start_timeout): it ended with exit code 3',
    );
  });

  test('lists the issues of an invalid answer by their paths', () => {
    const issues = JSON.stringify([{ code: 'invalid_type', path: ['content', 0], message: 'Invalid input: expected object' }], null, 2);
    const { message } = toFailure(new SdkError(SdkErrorCode.InvalidResult, `Invalid result: ${issues}`), context);
    expect(message).toBe('the answer does not follow the protocol: Invalid result: content.0: expected object');
  });
});
