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
const writes = (names: string, type: string) =>
  `the server asks for ${names} authentication; write auth: { type: ${type}, credential: NAME }`;

test.each([
  ['Digest realm="a, Basic b", qop="auth,auth-int", nonce="x=="', '', [writes('Digest', 'digest')]],
  ['Hawk realm="a, Basic b", qop="auth,auth-int", nonce="x=="', '', hasNone('Hawk')],
  ['Negotiate', basic, hasNone('Negotiate')],
  ['Negotiate, NTLM', basic, hasNone('Negotiate or NTLM')],
  ['NTLM TlRMTVNTUAAC==', basic, hasNone('NTLM')],
  ['AWS4-HMAC-SHA256', basic, [writes('AWS4-HMAC-SHA256', 'aws_sigv4')]],
  ['Bearer realm="x"', basic, [writes('Bearer', 'bearer')]],
  ['Negotiate, Basic realm="x"', '', [writes('Negotiate or Basic', 'basic')]],
  ['BASIC realm="x"', basic, []],
  ['Digest realm="x", basic realm="x"', basic, []],
  ['Bearer', ', headers: { authorization: "bearer {{id}}" }', []],
  [undefined, basic, []],
  ['', basic, []],
])('a 401 that asks for another scheme than the one sent says so: %j%s', async (asked, more, advice) => {
  expect(await refused(asked, more)).toEqual(advice);
});

test.each([
  [403, 'proxy.corp:3128', ['the request went through the proxy proxy.corp:3128, which might have answered in place of the server']],
  [503, 'proxy.corp:3128', ['the request went through the proxy proxy.corp:3128, which might have answered in place of the server']],
  [404, 'proxy.corp:3128', []],
  [403, undefined, []],
])('a %i of a request that went through the proxy %s names the proxy where it may be its answer', async (status, proxy, advice) => {
  const flow = 'nodes: [{ type: http, url: "https://api.example.com/{{id}}", retry: { max: 0 } }]';
  const { failures } = await runFlow(flow, [{ id: 1 }], { http: () => ({ status, body: 'no', proxy }) });
  expect(failures[0]?.message.split('\n').slice(1)).toEqual(advice);
});
