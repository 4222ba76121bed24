import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readAllFiles, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { hasCurl, unlessCurl } from '../helpers/shell.ts';

const secret = 'CANARY "1" \\ & é';

/** Starts a server that echoes requests, and writes a flow that sends it a secret in the body. */
async function scene(more = '') {
  const server = await httpServer((request, response) => json(response, { echo: request.body }));
  const flow = `nodes:
  - type: http
    method: POST
    url: ${server.origin}/{{id}}
    body: { id: "{{id}}", key: { credential: crm-key } }
    map: [echo]${more}
`;
  const place = await workplace({ 'flow.yaml': flow, 'in.csv': 'id\n1\n' });
  return { server, place };
}

const env = { AUTOMATE_CREDENTIAL_CRM_KEY: secret };

describe('a secret in a request body', () => {
  test('is sent to the server, but never written to a file or stream of the run', async () => {
    const { server, place } = await scene();
    const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--events', 'events.ndjson', '--summary', 'sum.json'];
    const { code, stdout, stderr } = await place.automate(args, { env });
    expect(code).toBe(0);
    expect(server.requests.map(({ body }) => JSON.parse(body))).toEqual([{ id: '1', key: secret }]);
    expect(stdout + stderr + (await readAllFiles(place))).not.toContain('CANARY');
    expect(await place.read('out.csv')).toContain('***');
  });

  test('is encoded correctly in a form, and never written to a file or stream', async () => {
    const { server, place } = await scene();
    const flow = await place.read('flow.yaml');
    await place.write('flow.yaml', flow.replace('body: {', 'form: { more: [{ credential: crm-key }],'));
    const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--events', 'events.ndjson', '--summary', 'sum.json'];
    const { code, stdout, stderr } = await place.automate(args, { env });
    expect(code).toBe(0);
    expect(server.requests.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))).toEqual([
      { more: secret, id: '1', key: secret },
    ]);
    expect(stdout + stderr + (await readAllFiles(place))).not.toContain('CANARY');
    expect(await place.read('out.csv')).toContain('***');
  });

  test('is not sent to a different origin after a redirect', async () => {
    const { place, server } = await scene('\n    follow: any');
    const other = await httpServer();
    const leading = await httpServer((_request, response) => response.writeHead(307, { location: `${other.origin}/x` }).end());
    await place.write('flow.yaml', (await place.read('flow.yaml')).replace(server.origin, leading.origin));
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv'], { env });
    expect(code).toBe(4);
    expect(leading.requests[0]?.body).toContain('CANARY');
    expect(other.requests).toEqual([]);
    expect(await place.read('out.errors.csv')).toContain(`a redirect to another origin (${other.origin}) would lose the body`);
  });

  test('ends the run with 7 if it is not stored, and is reported at its position in the flow', async () => {
    const { server, place } = await scene();
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv']);
    expect([code, server.requests]).toEqual([7, []]);
    expect(stderr).toContain('flow.yaml:5:46: there is no credential "crm-key"');
    expect(await place.files()).toEqual(['flow.yaml', 'in.csv']);
  });

  test.skipIf(!hasCurl)(`becomes a shell variable in the curl command that test-request prints${unlessCurl}`, async () => {
    const { server, place } = await scene();
    const { stdout } = await place.automate(['test-request', 'flow.yaml', '--in', 'in.csv', '--curl', '--no-send'], { env });
    const [line = ''] = stdout.split('\n');
    expect(line).not.toContain('CANARY');
    await promisify(execFile)('sh', ['-c', line], { env: { PATH: process.env.PATH, AUTOMATE_CREDENTIAL_CRM_KEY: 's3cret' } });
    expect(server.requests.at(-1)?.body).toBe('{"id":"1","key":"s3cret"}');
  });
});
