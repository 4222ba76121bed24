import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeCertificates } from '../helpers/certificates.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';
import { unusedPort } from '../helpers/raw-server.ts';

const { authority, folder } = makeCertificates();

const hasNginx = spawnSync('nginx', ['-v']).status === 0;
const hasNghttpx = spawnSync('nghttpx', ['--version']).status === 0;
const unless = (has: boolean, program: string) => (has ? '' : ` (skipped: ${program} is not installed)`);

const records = 300;
const rows = `id\n${Array.from({ length: records }, (_, index) => index).join('\n')}\n`;

/** Starts a server for the current test, and waits until it takes connections. */
async function started(command: string, parameters: readonly string[], port: number): Promise<ChildProcess> {
  const server = spawn(command, parameters, { stdio: 'ignore' });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  onTestFinished(async () => {
    server.kill('SIGTERM');
    await ended;
  });
  while (!(await accepts(port))) await wait(20);
  return server;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

interface Nginx {
  readonly port: number;
  readonly process: ChildProcess;
  /** The requests that it has answered. */
  answered(): string[];
}

async function nginx(settings: string, location = 'return 200 "$request_method $uri";'): Promise<Nginx> {
  const place = mkdtempSync(join(tmpdir(), 'automate-nginx-'));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  const port = await unusedPort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${place}/${kind};`).join(' ');
  writeFileSync(
    join(place, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root; ' : ''}daemon off; pid ${place}/pid; error_log ${place}/error.log; worker_processes 1; events { }
http {
  log_format short "$request_method $uri $server_protocol"; access_log ${place}/access.log short; ${temporary}
  server {
    listen 127.0.0.1:${port} ssl http2;
    ssl_certificate ${folder}/good.pem; ssl_certificate_key ${folder}/good.key;
    ${settings}
    location / { ${location} }
  }
}
`,
  );
  const server = await started('nginx', ['-c', join(place, 'nginx.conf'), '-e', join(place, 'error.log')], port);
  const answered = () => readFileSync(join(place, 'access.log'), 'utf8').trim().split('\n');
  return { port, process: server, answered };
}

async function placeFor(port: number, node: string): Promise<Workplace> {
  const flow = `connections:
  push: { type: http, base_url: "https://127.0.0.1:${port}", http2: true, concurrency: 64 }
nodes:
  - { type: http, connection: push, url: "/{{id}}", concurrency: 64, answer: text, map: { answer: $body }, retry: { max: 0 }, ${node} }
`;
  return workplace({ 'flow.yaml': flow, 'rows.csv': rows });
}

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--cacert', authority];

const expectedRows = (method: string) => Array.from({ length: records }, (_, index) => `${index},${method} /${index}`);
const expectedLog = (method: string) => Array.from({ length: records }, (_, index) => `${method} /${index} HTTP/2.0`).toSorted();

describe.skipIf(!hasNginx)(`nginx${unless(hasNginx, 'nginx')}`, () => {
  test('gets each POST once, also if it sends GOAWAY after every 20 requests', async () => {
    const server = await nginx('http2_max_concurrent_streams 10; keepalive_requests 20;');
    const place = await placeFor(server.port, 'method: POST, body: { a: "{{id}}" }');
    const { code, stderr } = await place.automate(run);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect((await place.read('out.csv')).trim().split('\n').slice(1)).toEqual(expectedRows('POST'));
    expect(server.answered().toSorted()).toEqual(expectedLog('POST'));
  });

  test('can be reloaded during a run, without a failed record', async () => {
    const backend = await httpServer(async ({ method, path }, response) => {
      await wait(20);
      if (backend.requests.length % 60 === 0) server.process.kill('SIGHUP');
      response.end(`${method} ${path}`);
    });
    const server = await nginx('http2_max_concurrent_streams 8;', `proxy_pass ${backend.origin};`);
    const place = await placeFor(server.port, 'method: POST, body: { a: "{{id}}" }');
    const { code, stderr } = await place.automate(run);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect((await place.read('out.csv')).trim().split('\n').slice(1)).toEqual(expectedRows('POST'));
    expect(backend.requests).toHaveLength(records);
  });

  test('sends and receives bodies of several megabytes', async () => {
    const text = 'x'.repeat(3_000_000);
    const backend = await httpServer(({ body }, response) => response.end(body));
    const server = await nginx('client_max_body_size 100m;', `proxy_pass ${backend.origin};`);
    const place = await placeFor(server.port, 'method: POST, text: "{{text}}"');
    await place.write('rows.csv', `id,text\n1,${text}\n2,${text}\n3,${text}\n`);
    const { code, stderr } = await place.automate(run);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect((await place.read('out.csv')).trim().split('\n').slice(1)).toEqual([1, 2, 3].map((id) => `${id},${text},${text}`));
  });

  test('gets the client certificate', async () => {
    const server = await nginx(
      `ssl_client_certificate ${authority}; ssl_verify_client on;`,
      'return 200 "$ssl_client_verify $ssl_client_s_dn $server_protocol";',
    );
    const place = await placeFor(server.port, 'method: GET');
    const flow = await place.read('flow.yaml');
    const files = `client_cert: { cert: ${folder}/good.pem, key: ${folder}/good.key }`;
    await place.write('flow.yaml', flow.replace('http2: true', `http2: true, ${files}`));
    await place.write('rows.csv', 'id\n1\n');
    expect((await place.automate(run)).code).toBe(0);
    expect(await place.read('out.csv')).toMatch('1,SUCCESS CN=good HTTP/2.0');
  });
});

describe.skipIf(!hasNghttpx)(`nghttpx${unless(hasNghttpx, 'nghttpx')}`, () => {
  test('gets each request once, within its limit of streams', async () => {
    let open = 0;
    let most = 0;
    const backend = await httpServer(async ({ method, path }, response) => {
      most = Math.max(most, ++open);
      await wait(10);
      open--;
      response.end(`${method} ${path}`);
    });
    const port = await unusedPort();
    const parameters = [
      ...['--conf=/dev/null', '--workers=1', `--frontend=127.0.0.1,${port}`, `--backend=127.0.0.1,${backend.port}`],
      ...[
        '--frontend-http2-max-concurrent-streams=5',
        '--backend-connections-per-host=100',
        join(folder, 'good.key'),
        join(folder, 'good.pem'),
      ],
    ];
    await started('nghttpx', parameters, port);
    const place = await placeFor(port, 'method: PUT, body: { a: "{{id}}" }');
    const { code, stderr } = await place.automate(run);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect((await place.read('out.csv')).trim().split('\n').slice(1)).toEqual(expectedRows('PUT'));
    expect(backend.requests).toHaveLength(records);
    expect(most).toBeLessThanOrEqual(5);
  });
});
