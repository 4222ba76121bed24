import { describe, expect, test } from 'vitest';
import type { ErrorDetails } from '../../src/core/error-code.ts';
import { AutomateError } from '../../src/core/failure.ts';
import { messageForClient } from '../../src/serve/http/advice.ts';

describe('an error of a server that has', () => {
  const credential = (details: Omit<ErrorDetails['credential'], 'credential'>) =>
    messageForClient(
      new AutomateError('credential', 'there is no credential "crm"', { code: 'credential', details: { credential: 'crm', ...details } }),
    );

  test('a missing credential names the command for its environment', () => {
    expect(credential({ env: 'staging', remedy: 'store', takesVariable: true })).toMatch(
      /^there is no credential "crm"\non the server: automate credentials set crm --env staging\nor set AUTOMATE_CREDENTIAL_CRM/,
    );
  });

  test('a command that gives no secret is tried on the server', () => {
    expect(credential({ env: 'staging', remedy: 'command' })).toMatch(
      /\non the server, try it: automate credentials check crm --env staging$/,
    );
  });

  test('a credential for another host says that its hosts can be set again', () => {
    expect(credential({ remedy: 'other-hosts' })).toContain('\non the server, set it again with other --hosts if that is meant: automate');
  });

  test('a wrong option names the field or header that sets it', () => {
    const wrong = (option: string) =>
      messageForClient(new AutomateError('usage', 'expected x, found y', { code: 'invalid-option', details: { option } }));
    expect([wrong('maxErrors'), wrong('encoding')]).toEqual([
      'max_errors: expected x, found y',
      'charset in Content-Type: expected x, found y',
    ]);
  });
});
