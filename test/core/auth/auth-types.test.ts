import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { allAuthNames } from '../../../src/core/auth/auth.ts';
import { credentialFor, defineAuthType, inHeader } from '../../../src/core/auth/auth-type.ts';
import { authTypes } from '../../../src/core/auth/auth-types.ts';
import { credentialName } from '../../../src/core/options/names.ts';
import { httpServer } from '../../helpers/http-server.ts';
import type { Schema } from '../../helpers/json-schema.ts';

/** An auth type that only this file defines. */
const signedToken = defineAuthType({
  type: 'signed_token',
  label: 'signed token',
  options: z.strictObject({ type: z.literal('signed_token'), credential: credentialName, realm: z.string() }),
  parts: {
    realm: { question: 'Realm', example: 'main' },
    credential: { question: 'Name of the credential', isCredential: true, example: 'crm-token' },
  },
  problem: ({ realm }) => (realm === '' ? { option: 'realm', message: 'expected the name of a realm' } : undefined),
  credentials: ({ credential }, origin) => [credentialFor(credential, origin)],
  sign: ({ realm }, secret) => inHeader('Authorization', `Signed ${realm}:${secret}`),
  preview: ({ realm }) => inHeader('Authorization', `Signed ${realm}:***`),
  curl: ({ realm }, variable) => ({ in: 'header', text: [`Authorization: Signed ${realm}:`, { variable }] }),
});

const registry = '../../../src/core/auth/auth-types.ts';

/** Reloads the modules under test, with one more line in the registry of auth types. */
async function load() {
  vi.resetModules();
  vi.doMock(registry, async (original) => ({ ...(await original<object>()), authTypes: [...authTypes, signedToken] }));
  return {
    ...(await import('../../helpers/flow-problems.ts')),
    ...(await import('../../helpers/json-schema.ts')),
    ...(await import('../../helpers/run-flow.ts')),
    ...(await import('../../http/sending.ts')),
    ...(await import('../../../src/cli/connections/connections-auth.ts')),
    ...(await import('../../../src/cli/show/request.ts')),
    ...(await import('../../../src/flow/json-schema.ts')),
    ...(await import('../../helpers/node-types.ts')),
  };
}

describe('a new auth type, added with one file and one line in the registry,', () => {
  let loaded: Awaited<ReturnType<typeof load>>;
  const auth = { type: 'signed_token', credential: 'c', realm: 'main' };
  const flow = (written: object) => JSON.stringify({ nodes: [{ type: 'http', url: 'https://a.com/', auth: written }] });

  beforeAll(async () => {
    loaded = await load();
  });

  afterAll(() => {
    vi.doUnmock(registry);
    vi.resetModules();
  });

  test('is checked in a flow, and its credential is loaded', () => {
    const { flowProblems, planFor } = loaded;
    expect(planFor(flow(auth)).credentials).toMatchObject([{ name: 'c', isPair: false, origins: ['https://a.com'] }]);
    expect(flowProblems(flow({ ...auth, realm: '' })).map(({ message }) => message)).toEqual(['expected the name of a realm']);
    expect(flowProblems(flow({ ...auth, reelm: 'x' })).map(({ message }) => message)).toEqual([
      'unknown key "reelm"; did you mean "realm"?',
    ]);
  });

  test('signs a request', async () => {
    const { createSender, runFlow } = loaded;
    const { requests } = await runFlow(flow(auth), [{ id: '1' }]);
    const server = await httpServer();
    await createSender({ secrets: { c: 's3cret' } }).get(server.origin, { auth: requests[0]?.auth });
    expect(server.requests[0]?.headers.authorization).toBe('Signed main:s3cret');
  });

  test('is shown in a preview and in a curl command, but without its secret', async () => {
    const { curlText, requestText, runFlow } = loaded;
    const [request] = (await runFlow(flow(auth), [{ id: '1' }])).requests;
    if (!request) throw new Error('nothing was sent');
    expect(requestText(request)).toContain('Authorization: Signed main:***');
    expect(curlText(request)).toContain('-H "Authorization: Signed main:$AUTOMATE_CREDENTIAL_C"');
  });

  test('appears in the JSON Schema of flows', () => {
    const { breaches, flowJsonSchema, nodeTypes } = loaded;
    const schema = flowJsonSchema(nodeTypes) as unknown as Schema;
    expect(breaches(schema, JSON.parse(flow(auth)))).toEqual([]);
    expect(breaches(schema, JSON.parse(flow({ ...auth, realm: 1 })))).not.toEqual([]);
  });

  test('can be used in `connections add`, whose help shows an example of the type', async () => {
    const { authOf } = loaded;
    const given = { auth: 'signed-token', credential: 'c' };
    await expect(authOf('crm', given, { asker: undefined, isWalk: false })).rejects.toThrow(
      'expected --auth-set realm=VALUE for --auth signed_token, as in: automate connections add http crm --base-url https://crm.example.com/v2 --auth signed_token --auth-set realm=main --credential crm-token',
    );
  });
});

test('an auth type without all required members does not compile', () => {
  const { curl, ...withoutCurl } = signedToken;
  // @ts-expect-error: curl is missing
  defineAuthType(withoutCurl);
  // @ts-expect-error: the part "realm" is missing
  defineAuthType({ ...signedToken, parts: { credential: signedToken.parts.credential } });
  expect(curl).toBeDefined();
});

test('the help of `connections add` lists every auth type', async () => {
  const { addOptions } = await import('../../../src/cli/connections/connections-options.ts');
  for (const name of allAuthNames) expect(addOptions.auth.help).toContain(name);
});
