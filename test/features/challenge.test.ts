import { expect, test } from 'vitest';
import { runFlow } from '../helpers/run-flow.ts';

/** Returns the message of a record whose request was answered with 401. */
async function refused(asked: string | undefined, more = '') {
  const headers: Record<string, string> = asked === undefined ? {} : { 'www-authenticate': asked };
  const http = () => ({ status: 401, body: 'no', headers });
  const flow = `nodes: [{ type: http, url: "https://api.example.com/{{id}}"${more} }]`;
  return (await runFlow(flow, [{ id: 1 }], { http })).failures[0]?.message.split('\n').slice(1);
}

const basic = ', auth: { type: basic, credential: key }';
const hasNone = (names: string) => [`the server asks for ${names} authentication, which automate does not have`];

test.each([
  [
    'Digest realm="a, Basic b", qop="auth,auth-int", nonce="x=="',
    '',
    ['the server asks for Digest authentication; write auth: { type: digest, credential: NAME }'],
  ],
  ['Hawk, digest realm="x"', basic, ['the server asks for Hawk or digest authentication; write auth: { type: digest, credential: NAME }']],
  ['Negotiate', basic, hasNone('Negotiate')],
  ['Negotiate, NTLM', basic, hasNone('Negotiate or NTLM')],
  ['NTLM TlRMTVNTUAAC==', basic, hasNone('NTLM')],
  ['AWS4-HMAC-SHA256', basic, ['the server asks for AWS4-HMAC-SHA256 authentication; write auth: { type: aws_sigv4, credential: NAME }']],
  ['Bearer realm="x"', basic, ['the server asks for Bearer authentication; write auth: { type: bearer, credential: NAME }']],
  [
    'Digest realm="x", Basic realm="x"',
    '',
    ['the server asks for Digest or Basic authentication; write auth: { type: digest, credential: NAME }'],
  ],
  ['BASIC realm="x"', basic, []],
  ['Digest realm="x", basic realm="x"', basic, []],
  ['Bearer', ', headers: { authorization: "bearer {{id}}" }', []],
  [undefined, basic, []],
  ['', basic, []],
])('a 401 that asks for another scheme than the one sent says so: %j%s', async (asked, more, advice) => {
  expect(await refused(asked, more)).toEqual(advice);
});
