import { describe, expect, test } from 'vitest';
import type { ErrorDetails } from '../../src/core/error-code.ts';
import { AutomateError } from '../../src/core/failure.ts';
import { messageForClient } from '../../src/serve/advice.ts';

describe('an error message that the server sends to a client', () => {
  const credential = (details: Omit<ErrorDetails['credential'], 'credential'>) =>
    messageForClient(
      new AutomateError('credential', 'there is no credential "crm"', { code: 'credential', details: { credential: 'crm', ...details } }),
    );

  test("contains the command that stores a missing credential, with the credential's environment", () => {
    expect(credential({ env: 'staging', remedy: 'store', takesVariable: true })).toMatch(
      /^there is no credential "crm"\non the server: automate credentials set crm --env staging\nor set AUTOMATE_CREDENTIAL_CRM/,
    );
  });

  test("suggests a check on the server if a credential's command fails", () => {
    expect(credential({ env: 'staging', remedy: 'command' })).toMatch(
      /\non the server, try it: automate credentials check crm --env staging$/,
    );
  });

  test('explains how to let a credential be sent to a host that is not allowed', () => {
    expect(credential({ remedy: 'other-hosts' })).toContain(
      '\nto allow that host, set the credential again on the server with different --hosts: automate',
    );
  });

  test('names an invalid option by its query field or header', () => {
    const wrong = (option: string) =>
      messageForClient(new AutomateError('usage', 'expected x, found y', { code: 'invalid-option', details: { option } }));
    expect([wrong('maxErrors'), wrong('encoding')]).toEqual([
      'max_errors: expected x, found y',
      'charset in Content-Type: expected x, found y',
    ]);
  });
});
