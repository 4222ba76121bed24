import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { askingFlow, csvOf } from '../helpers/asking.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { type Finished, type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { proxyServer } from '../helpers/proxy-server.ts';
import { rawServer, unusedPort } from '../helpers/raw-server.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--concurrency', '1'];
const quickRetry = ', retry: { max: 1, backoff: 1ms }';

interface Ended extends Finished {
  readonly place: Workplace;
  readonly errors: string;
  readonly out: string;
}

/** Runs a flow over one record. */
async function ask(flow: string, options: { args?: readonly string[]; env?: Record<string, string> } = {}): Promise<Ended> {
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(1) });
  const finished = await place.automate([...run, ...(options.args ?? [])], options.env ? { env: options.env } : {});
  return {
    ...finished,
    place,
    out: await place.read('out.csv').catch(() => ''),
    errors: await place.read('out.errors.csv').catch(() => ''),
  };
}

/** Returns the failure in the errors file in the form `class,status,message,attempts`. */
function reasonIn(errors: string): string {
  return errors.slice(errors.indexOf('\n') + 1).replace(/^1,"note, 1",ask,/, '');
}

const whole = '{"name":"whole"}';
const ok = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const cut = (bytes: Buffer) => bytes.subarray(0, bytes.length - 4);
const closing =
  (...parts: (string | Buffer)[]) =>
  (socket: Socket) => {
    for (const part of parts) socket.write(part);
    socket.end();
  };

describe('a response that is cut off', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['shorter than its Content-Length', closing(`${ok}Content-Length: 100\r\n\r\n${whole}`)],
    ['without the last chunk', closing(`${ok}Transfer-Encoding: chunked\r\n\r\n10\r\n${whole}\r\n`)],
    ['within a chunk', closing(`${ok}Transfer-Encoding: chunked\r\n\r\nff\r\n${whole}`)],
    ['gzip without its end', closing(`${ok}Content-Encoding: gzip\r\nConnection: close\r\n\r\n`, cut(gzipSync(whole)))],
    ['brotli without its end', closing(`${ok}Content-Encoding: br\r\nConnection: close\r\n\r\n`, cut(brotliCompressSync(whole)))],
    [
      'gzip whose Content-Length is as short',
      closing(
        `${ok}Content-Encoding: gzip\r\nConnection: close\r\nContent-Length: ${gzipSync(whole).length - 4}\r\n\r\n`,
        cut(gzipSync(whole)),
      ),
    ],
    ['JSON that ends with the connection', closing(`${ok}\r\n{"name":"who`)],
    ['within the headers', closing('HTTP/1.1 200 OK\r\nContent-Ty')],
    ['before any response', closing()],
    ['by a reset', (socket) => socket.resetAndDestroy()],
    ['by a reset within the body', (socket) => socket.write(`${ok}Content-Length: 100\r\n\r\n${whole}`, () => socket.resetAndDestroy())],
  ])('makes the program retry, and finally fails the record: %s', async (_, answer) => {
    const server = await rawServer(answer);
    const { code, errors, out } = await ask(askingFlow(server.origin, quickRetry));
    expect(code).toBe(4);
    expect(out).toBe('id,note,name\n');
    expect(reasonIn(errors)).toMatch(/^network,(?:200)?,.*,2,1$/m);
    expect(server.connections()).toBe(2);
  });
});

describe('a run with an unreachable server', () => {
  test('retries a refused connection, and finally fails the record', async () => {
    const { code, errors } = await ask(askingFlow(`http://127.0.0.1:${await unusedPort()}`, quickRetry));
    expect(code).toBe(4);
    expect(reasonIn(errors)).toMatch(/^network,,.*the connection was refused \(ECONNREFUSED\),2,1$/m);
  });

  test('retries a host name that DNS does not know, and finally fails the record', async () => {
    const { code, errors } = await ask(askingFlow('https://nowhere.invalid', quickRetry));
    expect(code).toBe(4);
    expect(reasonIn(errors)).toMatch(/^network,,.*nowhere\.invalid: the name (?:is not known|could not be looked up) \(DNS\).*,2,1$/m);
  });
});

describe('a run with a slow server', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['never responds', () => {}],
    ['never ends its headers', (socket) => trickle(socket, 'HTTP/1.1 200 OK\r\n', 'X-A: b\r\n')],
    ['sends its body very slowly', (socket) => trickle(socket, `${ok}Content-Length: 100000\r\n\r\n`, 'x')],
  ])('retries, and finally fails the record with a timeout, if the server %s', async (_, answer) => {
    const server = await rawServer(answer);
    const { code, errors } = await ask(askingFlow(server.origin, ', timeout: 300ms, retry: { max: 1, backoff: 1ms }'));
    expect(code).toBe(4);
    expect(reasonIn(errors)).toMatch(/^timeout,,"?no response within 300 ms.*,2,1$/m);
  });

  test('fails the record after 10 s if the server never accepts the connection', async () => {
    const port = await deafServer();
    // A run that waited for its request would reach the limit of this test.
    const { code, errors } = await ask(askingFlow(`http://127.0.0.1:${port}`, ', timeout: 1h, retry: { max: 0 }'));
    expect(code).toBe(4);
    expect(reasonIn(errors)).toMatch(/^timeout,,no connection to http:\/\/127\.0\.0\.1:\d+ in time,1,1$/m);
  });
});

describe('a response that is not JSON', () => {
  test.each([
    ['broken JSON', 'application/json', '{"name": nope}', /application\/json: \{"+name"+: nope\}/],
    ['HTML with 200', 'text/html', '<html>\u001b[31mlogin\u001b[0m</html>', /text\/html: <html>login<\/html>/],
    ['the first 200 bytes of a long body', 'text/plain', `?${'x'.repeat(5000)}`, /text\/plain: \?x{199}\.\.\./],
    [
      'invalid UTF-8',
      'application/json',
      Buffer.from('{"name":"\xe9"}', 'latin1'),
      /the body is not valid utf-8 \(12 bytes of application\/json\)/,
    ],
  ])('fails the record without a retry, and the message shows its content type and beginning: %s', async (_, type, body, expected) => {
    const server = await httpServer((_, response) => response.writeHead(200, { 'content-type': type }).end(body));
    const { code, errors } = await ask(askingFlow(server.origin));
    expect(code).toBe(4);
    expect(reasonIn(errors)).toMatch(/^parse,200,/);
    expect(reasonIn(errors)).toMatch(expected);
    expect(server.requests).toHaveLength(1);
  });

  test.each([[204], [200]])('leaves the mapped fields empty if its status is %i and it has no body', async (status) => {
    const server = await httpServer((_, response) => response.writeHead(status, { 'content-type': 'application/json' }).end());
    const { code, out } = await ask(askingFlow(server.origin));
    expect(code).toBe(0);
    expect(out).toBe('id,note,name\n1,"note, 1",\n');
  });
});

describe('a response that is larger than max_body', () => {
  const zeros = Buffer.alloc(1024 * 1024);
  const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024));
  test.each<[string, Record<string, string>, readonly Buffer[]]>([
    ['1 GB', { 'content-length': String(1024 * zeros.length) }, Array(1024).fill(zeros)],
    ['1 GB in chunks', {}, Array(1024).fill(zeros)],
    ['a decompression bomb of 100 MB', { 'content-encoding': 'gzip' }, [bomb]],
    ['a decompression bomb that is compressed twice', { 'content-encoding': 'gzip, gzip' }, [gzipSync(bomb)]],
  ])('fails the record, with little memory used: %s', async (_, headers, body) => {
    const server = await httpServer((_, response) => void Readable.from(body).pipe(response.writeHead(200, headers)));
    const flow = askingFlow(server.origin, quickRetry);
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(3), 'peak.mjs': peakMemory });
    const { code } = await place.automate(run, { node: ['--import', place.path('peak.mjs')] });
    expect(code).toBe(4);
    expect(await place.read('out.errors.csv')).toMatch(
      /^1,"note, 1",ask,parse,200,the body is larger than max_body of 10000000 bytes,1,1$/m,
    );
    // The peak is in kB. The program needs about 100 MB even for a small response.
    expect(Number(await place.read('peak'))).toBeLessThan(200_000);
  });
});

const peakMemory = `import { writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync('peak', String(process.resourceUsage().maxRSS)));`;

describe('an HTTP redirect', () => {
  test('fails the record if it is the eleventh in a row', async () => {
    const server = await httpServer(({ path }, response) => response.writeHead(302, { location: path }).end());
    const { code, errors } = await ask(askingFlow(server.origin));
    expect(code).toBe(4);
    expect(reasonIn(errors)).toMatch(/redirect/);
    expect(server.requests).toHaveLength(11);
  });

  test.each([
    ['to a different origin', (port: number) => `http://localhost:${port}/x`],
    ['to a file', () => 'file:///etc/passwd'],
    ['to the metadata address', () => 'http://169.254.169.254/latest/meta-data/'],
  ])('is refused, without sending a secret, if it leads %s', async (_, location) => {
    const other = await httpServer((_, response) => json(response, { name: 'x' }));
    const server = await httpServer((_, response) => response.writeHead(302, { location: location(other.port) }).end());
    const flow = askingFlow(server.origin, ', auth: { type: api_key, header: X-API-Key, credential: key }');
    const { code, errors } = await ask(flow, { env: { AUTOMATE_CREDENTIAL_KEY: 'canary-secret' } });
    expect(code).toBe(4);
    expect(reasonIn(errors)).toMatch(/redirect/);
    expect(other.requests).toHaveLength(0);
  });

  test.each(['', ', follow: any'])(
    'is refused, without sending a secret, if it leads from https to http (options: "%s")',
    async (follow) => {
      const { good, authority } = makeCertificates();
      const other = await httpServer((_, response) => json(response, { name: 'x' }));
      const location = 'http://plain.example.invalid/x';
      const server = await httpServer((_, response) => response.writeHead(302, { location }).end(), good);
      const proxy = await proxyServer(other.port);
      const { code, errors } = await ask(askingFlow(server.origin, `${follow}, auth: { type: bearer, credential: key }`), {
        args: ['--cacert', authority],
        env: { AUTOMATE_CREDENTIAL_KEY: 'canary-secret', HTTP_PROXY: proxy.url },
      });
      expect([code, server.requests.length]).toEqual([4, 1]);
      expect(reasonIn(errors)).toMatch(/redirect/);
      expect(proxy.seen).toEqual([]);
    },
  );

  test('to a different origin is followed if follow is "any", without the credential, headers and body', async () => {
    const other = await httpServer((_, response) => json(response, { name: 'x' }));
    const server = await httpServer((_, response) => response.writeHead(307, { location: `http://localhost:${other.port}/x` }).end());
    const more = ', follow: any, headers: { X-Mine: mine }, auth: { type: api_key, header: X-API-Key, credential: key }';
    const { errors } = await ask(`${askingFlow(server.origin, more)}allow_hosts: [localhost]\n`, {
      env: { AUTOMATE_CREDENTIAL_KEY: 'canary-secret' },
    });
    expect([errors, other.requests.length]).toEqual(['', 1]);
    expect(JSON.stringify(other.requests)).not.toMatch(/canary|mine/);
  });
});

describe('a TLS certificate', () => {
  const certificates = makeCertificates();
  test.each([
    ['self-signed', 'selfSigned', /self-signed certificate .*DEPTH_ZERO_SELF_SIGNED_CERT/],
    ['expired', 'expired', /certificate has expired \(CERT_HAS_EXPIRED\)/],
    ['for a different host', 'wrongHost', /ERR_TLS_CERT_ALTNAME_INVALID/],
  ] as const)('makes the record fail with the reason, before a request is sent, if it is %s', async (_, name, expected) => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }), certificates[name]);
    const { code, errors } = await ask(askingFlow(server.origin), { args: ['--cacert', certificates.authority] });
    expect(code).toBe(4);
    expect(reasonIn(errors)).toMatch(/^network,,/);
    expect(reasonIn(errors)).toMatch(expected);
    expect(reasonIn(errors)).toMatch(/,1,1$/m);
    expect(server.requests).toHaveLength(0);
  });

  test('from a private authority is refused with advice, and accepted with --cacert', async () => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }), certificates.good);
    const { stderr, errors } = await ask(askingFlow(server.origin));
    expect(stderr).toContain('--cacert FILE');
    expect(errors).not.toContain('--');
    expect((await ask(askingFlow(server.origin), { args: ['--cacert', certificates.authority] })).code).toBe(0);
  });

  test('is verified even if NODE_TLS_REJECT_UNAUTHORIZED is 0', async () => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }), certificates.selfSigned);
    const { code } = await ask(askingFlow(server.origin), { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } });
    expect([code, server.requests.length]).toEqual([4, 0]);
  });
});

describe('an HTTP proxy', () => {
  test('receives the connections to the server as tunnels if it is set in HTTPS_PROXY', async () => {
    const { good, authority } = makeCertificates();
    const server = await httpServer((_, response) => json(response, { name: 'x' }), good);
    const proxy = await proxyServer(server.port);
    const { code, out, errors } = await ask(askingFlow('https://api.example.test'), {
      args: ['--cacert', authority],
      env: { HTTPS_PROXY: proxy.url },
    });
    expect([code, errors]).toEqual([0, '']);
    expect(out).toContain(',x');
    expect(proxy.seen).toEqual(['CONNECT api.example.test:443']);
  });

  test('receives all requests except to this machine if it is set in HTTP_PROXY', async () => {
    const server = await httpServer((_, response) => json(response, { name: 'x' }));
    const proxy = await proxyServer(server.port);
    const flow = askingFlow('http://api.example.test');
    const env = { HTTP_PROXY: proxy.url };
    expect((await ask(flow, { env, args: ['--allow-http'] })).code).toBe(0);
    expect(proxy.seen).toEqual(['GET http://api.example.test/1']);
    const direct = await ask(askingFlow(server.origin), { env });
    expect(direct.code).toBe(0);
    expect(proxy.seen).toHaveLength(1);
  });
});

/** Returns a port on which no connection is accepted: its process is suspended, and its queue of connections is full. */
async function deafServer(): Promise<number> {
  const code = "const s = require('net').createServer().listen(0, '127.0.0.1', 1, () => console.log(s.address().port))";
  const child = spawn(process.execPath, ['-e', code]);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line);
  child.kill('SIGSTOP');
  const callers = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  onTestFinished(() => {
    for (const caller of callers) caller.destroy();
    child.kill('SIGKILL');
  });
  await once(callers[0] as Socket, 'connect');
  return port;
}

function trickle(socket: Socket, start: string, drop: string): void {
  socket.write(start);
  const timer = setInterval(() => socket.write(drop), 50);
  socket.on('close', () => clearInterval(timer));
}
