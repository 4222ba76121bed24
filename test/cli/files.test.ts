import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { flowProblems } from '../helpers/flow-problems.ts';

/** A part of a multipart form as the server received it. */
type Part = readonly [name: string, value: string | { readonly name: string; readonly type: string; readonly text: string }];

interface FileServer {
  readonly origin: string;
  readonly requests: IncomingMessage[];
}

/** Starts a server on loopback that leaves request bodies to its handler. */
async function fileServer(answer: (request: IncomingMessage, response: ServerResponse, index: number) => unknown): Promise<FileServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer(async (request, response) => {
    // Errors are ignored, because a client is allowed to abort its request.
    await Promise.resolve(answer(request, response, requests.push(request) - 1)).catch(() => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** Parses a multipart form with the standard parser (Response.formData). */
async function partsOf(request: IncomingMessage): Promise<Part[]> {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string]);
  const form = await new Request('http://form/', {
    method: 'POST',
    headers,
    body: request as never,
    duplex: 'half',
  } as RequestInit).formData();
  const parts = [...form].map(async ([name, value]): Promise<Part> => {
    return [name, typeof value === 'string' ? value : { name: value.name, type: value.type, text: await value.text() }];
  });
  return Promise.all(parts);
}

const errorsOf = async (place: Workplace, name = 'out.errors.csv') => (await place.read(name)).split('\n').slice(1, -1);

describe('a form that uploads files', () => {
  const flow = (origin: string, form: string, more = '') =>
    `nodes:\n  - { type: http, method: POST, url: "${origin}/up", retry: { max: 2, backoff: 1ms }, form: ${form}, map: { ok: ok } ${more} }\n`;
  const answered = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":1}');

  test('is sent as multipart/form-data with a Content-Length', async () => {
    const forms: Part[][] = [];
    const server = await fileServer(async (request, response) => {
      forms.push(await partsOf(request));
      answered(response);
    });
    const form =
      '{ title: "no {{id}} \\"ü\\"", tags: [a, b], doc: { file: "{{path}}" }, other: { file: "{{path}}", name: "{{id}}.bin", content_type: x/y } }';
    const place = await workplace({ 'flow.yaml': flow(server.origin, form), 'in.csv': 'id,path\n1,photos/a.pdf\n' });
    await mkdir(place.path('photos'));
    await place.write('photos/a.pdf', 'péf\r\n--x');
    expect((await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv'])).code).toBe(0);
    expect(forms).toEqual([
      [
        ['title', 'no 1 "ü"'],
        ['tags', 'a'],
        ['tags', 'b'],
        ['doc', { name: 'a.pdf', type: 'application/pdf', text: 'péf\r\n--x' }],
        ['other', { name: '1.bin', type: 'x/y', text: 'péf\r\n--x' }],
      ],
    ]);
    const { headers } = server.requests[0] as IncomingMessage;
    expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=\S+$/);
    expect(Number(headers['content-length'])).toBeGreaterThan(100);
    expect(headers['transfer-encoding']).toBeUndefined();
  });

  test('fails its record if a redirect to another origin would lose the files', async () => {
    const other = await fileServer((_request, response) => answered(response));
    const server = await fileServer((request, response) => {
      request.resume().on('end', () => response.writeHead(308, { location: `${other.origin}/up` }).end());
    });
    const place = await workplace({
      'flow.yaml': flow(server.origin, '{ doc: { file: a.txt } }', ', follow: any'),
      'in.csv': 'id\n1\n',
      'a.txt': 'a',
    });
    expect((await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv'])).code).toBe(4);
    expect(await place.read('out.errors.csv')).toContain(`,308,"a redirect to another origin (${other.origin}) would lose the body`);
    expect([server.requests.length, other.requests.length]).toEqual([1, 0]);
  });

  test('is sent with the same bytes in a retry and after a redirect', async () => {
    const bodies: string[] = [];
    const server = await fileServer(async (request, response, index) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      bodies.push(Buffer.concat(chunks).toString());
      if (index === 0) response.writeHead(503).end();
      else if (index === 1) response.writeHead(307, { location: '/elsewhere' }).end();
      else answered(response);
    });
    const place = await workplace({ 'flow.yaml': flow(server.origin, '{ doc: { file: a.txt } }'), 'in.csv': 'id\n1\n', 'a.txt': 'hello' });
    expect((await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv'])).code).toBe(0);
    expect(bodies).toHaveLength(3);
    expect(new Set(bodies).size).toBe(1);
    expect(bodies[0]).toContain('\r\n\r\nhello\r\n--');
  });

  test('fails the record before anything is sent if a file is missing or not allowed', async () => {
    const server = await fileServer((_, response) => answered(response));
    const paths = ['gone.txt', '.', '', '../secret.txt', '/etc/passwd', 'link/secret.txt', 'sub/../a.txt', 'leak.txt'];
    const place = await workplace({ 'secret.txt': 'secret', 'flow.yaml': flow(server.origin, '{ doc: { file: "{{path}}" } }') });
    await mkdir(place.path('data'));
    await symlink('..', place.path('data/link'));
    await symlink('../secret.txt', place.path('data/leak.txt'));
    await place.write('data/a.txt', 'a');
    await place.write('data/in.csv', `path,n\n${paths.map((path, index) => `${path},${index}\n`).join('')}`);
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'data/in.csv', '--out', 'out.csv', '--keep-going']);
    expect(code).toBe(4);
    expect(server.requests).toHaveLength(0);
    const errors = await errorsOf(place);
    expect(errors).toHaveLength(paths.length);
    for (const error of errors) expect(error).toContain(',request,');
    expect(errors[0]).toContain('there is no file ""gone.txt""');
    for (const index of [4, 5, 7]) expect(errors[index]).toContain('leads out of the folder for files');
    for (const index of [3, 6]) expect(errors[index]).toContain('expected a path without');
  });

  test('fails the attempt if a file changes during the upload', async () => {
    const text = 'x'.repeat(3_000_000);
    const place = await workplace({ 'in.csv': 'id\n1\n', 'a.txt': text });
    let lengths: number[] = [];
    const server = await fileServer(async (request, response, index) => {
      let length = 0;
      for await (const chunk of request) {
        if (length === 0 && index === 0) await writeFile(place.path('a.txt'), text.slice(1));
        length += (chunk as Buffer).length;
      }
      lengths = [...lengths, length];
      answered(response);
    });
    await place.write('flow.yaml', flow(server.origin, '{ doc: { file: a.txt } }'));
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv']);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toMatch(/\d retr(?:y|ies) in /);
    expect(lengths).toHaveLength(1);
    expect(server.requests.length).toBeGreaterThan(1);
  });

  test('sends secrets along with the files, without printing the secrets', async () => {
    const forms: Part[][] = [];
    const server = await fileServer(async (request, response) => {
      forms.push(await partsOf(request));
      answered(response);
    });
    const form = '{ key: { credential: k }, doc: { file: a.txt } }';
    const place = await workplace({ 'flow.yaml': flow(server.origin, form), 'in.csv': 'id\n1\n', 'a.txt': 'hello' });
    const env = { AUTOMATE_CREDENTIAL_K: 'very-secret-key' };
    const sent = await place.automate(['test-request', 'flow.yaml', '--in', 'in.csv'], { env });
    expect(forms[0]?.[0]).toEqual(['key', 'very-secret-key']);
    expect(sent.stdout).toContain('key: ***\ndoc: file a.txt');
    expect(sent.stdout).not.toContain('very-secret');
    const curl = await place.automate(['test-request', 'flow.yaml', '--in', 'in.csv', '--curl'], { env });
    expect(curl.stdout).toContain(`--form-string key="$AUTOMATE_CREDENTIAL_K" -F doc=@a.txt ${server.origin}/up`);
  });

  test('cannot be combined with a content type, a batch or the cache', () => {
    const messages = (more: string) =>
      flowProblems(flow('https://a.com', '{ doc: { file: "{{p}}" } }', more)).map(({ message }) => message);
    expect(messages('')).toEqual([]);
    expect(messages(', headers: { content-type: x/y }').join()).toContain('a form that sends files always has the content type');
    expect(messages(', cache: 1h').join()).toContain('the cache cannot store files');
    expect(messages(', batch: { items: "{{p}}" }').join()).toContain('leave the files or batch out');
    expect(flowProblems(flow('https://a.com', '{ doc: { file: a, nam: b } }')).length).toBeGreaterThan(0);
  });
});

describe('the save option', () => {
  const flow = (origin: string, save: string, more = '') =>
    `nodes:\n  - { type: http, url: "${origin}/{{id}}", retry: { max: 2, backoff: 1ms }, save: ${save} ${more} }\n`;
  const pdf = (request: IncomingMessage, response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'application/pdf', etag: 'e' }).end(`PDF of ${request.url}`);
  const run = (place: Workplace, ...more: string[]) =>
    place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--keep-going', ...more]);

  test.each(['in.csv', 'out.csv', 'out.errors.csv', 'out.csv.automate-run'])(
    "refuses to overwrite %s, which is one of the run's own files",
    async (to) => {
      const server = await fileServer((_, response) => response.end('other'));
      const place = await workplace({ 'flow.yaml': flow(server.origin, `{ to: "${to}", replace: true }`), 'in.csv': 'id\n1\n' });
      expect((await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--keep-going'])).code).toBe(4);
      expect([server.requests, await place.read('in.csv'), await place.read('out.csv')]).toEqual([
        [],
        'id\n1\n',
        'id,saved.path,saved.bytes\n',
      ]);
      expect((await errorsOf(place))[0]).toContain("it is one of the run's own files");
    },
  );

  test("saves the body of a successful response, and adds the file's path and size to the record", async () => {
    const server = await fileServer((request, response) => {
      if (request.url === '/2') response.writeHead(404).end('no such invoice');
      else pdf(request, response);
    });
    const save = '{ to: "invoices/2026/{{id}}.pdf" }';
    const place = await workplace({ 'flow.yaml': flow(server.origin, save, ', map: { tag: $headers.etag }'), 'in.csv': 'id\n1\n2\n3\n' });
    expect((await run(place)).code).toBe(4);
    expect(await place.read('out.csv')).toBe('id,saved.path,saved.bytes,tag\n1,invoices/2026/1.pdf,9,e\n3,invoices/2026/3.pdf,9,e\n');
    expect(await place.read('invoices/2026/1.pdf')).toBe('PDF of /1');
    expect(await readdir(place.path('invoices/2026'))).toEqual(['1.pdf', '3.pdf']);
    expect((await errorsOf(place))[0]).toContain('http,404,the server answered 404: no such invoice');
    expect((await place.files()).filter((name) => name.includes('automate-'))).toEqual([]);
  });

  test('refuses to overwrite an existing file before anything is sent, unless replace is set', async () => {
    const server = await fileServer(pdf);
    const place = await workplace({ 'flow.yaml': flow(server.origin, '{ to: "{{id}}.pdf" }'), 'in.csv': 'id\n1\n', '1.pdf': 'old' });
    expect((await run(place)).code).toBe(4);
    expect(server.requests).toHaveLength(0);
    expect((await errorsOf(place))[0]).toContain('http-1,output,,"the file ""1.pdf"" exists, and replace: true is not set",1,1');
    expect(await place.read('1.pdf')).toBe('old');
    await place.write('flow.yaml', flow(server.origin, '{ to: "{{id}}.pdf", replace: true }'));
    expect((await run(place, '--force')).code).toBe(0);
    expect(await place.read('1.pdf')).toBe('PDF of /1');
  });

  test.each(['false', 'true'])('fails the second of two records that save to the same file (replace: %s)', async (replace) => {
    const server = await fileServer(pdf);
    const place = await workplace({
      'flow.yaml': flow(server.origin, `{ to: "{{name}}.pdf", replace: ${replace} }`),
      'in.csv': 'id,name\n1,a\n2,a\n3,b\n',
    });
    expect((await run(place, '--concurrency', '1')).code).toBe(4);
    expect(await place.read('a.pdf')).toBe('PDF of /1');
    const errors = await errorsOf(place);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain('another record of this run saves ""a.pdf""');
    expect(server.requests.length).toBeGreaterThan(1);
  });

  test('refuses paths that lead out of the folder, and targets that are not regular files', async () => {
    const server = await fileServer(pdf);
    const paths = ['../x.pdf', '/tmp/automate-x.pdf', 'out/x.pdf', 'a/../../x.pdf', 'sub', 'sub/', '', 'link.pdf', '..'];
    const place = await workplace({ 'flow.yaml': flow(server.origin, '{ to: "{{to}}", replace: true }') });
    await mkdir(place.path('data/sub'), { recursive: true });
    await mkdir(place.path('outside'));
    await symlink('../outside', place.path('data/out'));
    await symlink('../outside/y.pdf', place.path('data/link.pdf'));
    await place.write('data/in.csv', `id,to\n${paths.map((path, index) => `${index},${path}\n`).join('')}`);
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'data/in.csv', '--out', 'out.csv', '--keep-going']);
    expect(code).toBe(4);
    expect(server.requests).toHaveLength(0);
    const errors = await errorsOf(place);
    expect(errors).toHaveLength(paths.length);
    for (const error of errors) expect(error).toContain(',output,');
    expect(await readdir(place.path('outside'))).toEqual([]);
    expect(await place.files()).not.toContain('x.pdf');
  });

  test('refuses NUL characters in a name, and writes only below the folder in --files', async () => {
    const server = await fileServer(pdf);
    const place = await workplace({
      'flow.yaml': flow(server.origin, '{ to: "{{to}}" }'),
      'in.jsonl': '{"id":1,"to":"a\\u0000b"}\n{"id":2,"to":"ok"}\n',
    });
    await mkdir(place.path('store'));
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'in.jsonl', '--out', 'out.jsonl', '--files', 'store']);
    expect(code).toBe(4);
    expect(await place.read('out.errors.jsonl')).toContain('NUL');
    expect(await place.read('store/ok')).toBe('PDF of /2');
    const missing = await place.automate(['run', 'flow.yaml', '--in', 'in.jsonl', '--files', 'nowhere']);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('--files: expected a folder, found nowhere') });
  });

  test('cannot be resumed with a different folder in --files', async () => {
    const server = await fileServer(pdf);
    const place = await workplace({ 'flow.yaml': flow(server.origin, '{ to: "{{id}}.pdf" }'), 'in.csv': 'id\n1\n2\n3\n' });
    for (const folder of ['f1', 'f2']) await mkdir(place.path(folder));
    const run = (...more: string[]) => place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', ...more]);
    const saved = async () => [(await readdir(place.path('f1'))).sort(), await readdir(place.path('f2'))];
    expect((await run('--files', 'f1', '--max-credits', '2', '--concurrency', '1')).code).toBe(5);
    for (const args of [['--files', 'f2'], []]) {
      const { code, stderr } = await run('--resume', ...args);
      expect([code, stderr]).toEqual([73, expect.stringMatching(/the folder for files was \S+\/f1, is \//)]);
      expect(await saved()).toEqual([['1.pdf', '2.pdf'], []]);
    }
    expect((await run('--files', './f1/', '--resume')).code).toBe(0);
    expect(await saved()).toEqual([['1.pdf', '2.pdf', '3.pdf'], []]);
    expect((await run('--files', 'f1', '--resume')).stderr).toContain('is complete already');
    const other = await run('--files', 'f2', '--resume');
    expect([other.code, other.stderr]).toEqual([73, expect.stringContaining('the folder for files was ')]);
    expect([await saved(), server.requests.length]).toEqual([[['1.pdf', '2.pdf', '3.pdf'], []], 3]);
  });

  test('can be resumed with a different folder in --files if the flow uses no files', async () => {
    const server = await fileServer((_, response) => response.end('{"name":"x"}'));
    const text = `nodes: [{ type: http, url: "${server.origin}/{{id}}", map: [name] }]`;
    const place = await workplace({ 'flow.yaml': text, 'in.csv': 'id\n1\n2\n' });
    const run = (...more: string[]) => place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', ...more]);
    expect((await run('--max-credits', '1', '--concurrency', '1')).code).toBe(5);
    expect((await run('--resume', '--files', '.')).code).toBe(0);
  });

  test('requires --files if there is no input file', async () => {
    const server = await fileServer(pdf);
    const place = await workplace({ 'flow.yaml': flow(server.origin, '{ to: "{{id}}.pdf" }') });
    const without = await place.automate(['run', 'flow.yaml', '--in-format', 'csv'], { stdin: 'id\n1\n' });
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('give the folder for files: --files DIR') });
    expect((await place.automate(['run', 'flow.yaml', '--in-format', 'csv', '--files', '.'], { stdin: 'id\n1\n' })).code).toBe(0);
    expect(await place.read('1.pdf')).toBe('PDF of /1');
  });

  test('removes the partial file if a response is truncated, and saves the next attempt', async () => {
    const server = await fileServer((_, response, index) => {
      response.writeHead(200, { 'content-length': '9' });
      if (index === 0) response.write('half', () => response.destroy());
      else response.end('whole one');
    });
    const place = await workplace({ 'flow.yaml': flow(server.origin, '{ to: "f/{{id}}" }'), 'in.csv': 'id\n1\n' });
    expect((await run(place)).code).toBe(0);
    expect(await place.read('f/1')).toBe('whole one');
    expect(await readdir(place.path('f'))).toEqual(['1']);
    await place.write('flow.yaml', flow(server.origin, '{ to: "g/{{id}}" }').replace('max: 2', 'max: 0'));
    server.requests.length = 0;
    expect((await run(place, '--force')).code).toBe(4);
    expect(await readdir(place.path('g'))).toEqual([]);
  });

  test('overwrites a temporary file that a crash has left behind', async () => {
    const server = await fileServer(pdf);
    const place = await workplace({
      'flow.yaml': flow(server.origin, '{ to: "{{id}}.pdf" }'),
      'in.csv': 'id\n1\n',
      '.1.pdf.automate-part': 'half',
    });
    expect((await run(place)).code).toBe(0);
    expect(await place.read('1.pdf')).toBe('PDF of /1');
    expect(await place.files()).not.toContain('.1.pdf.automate-part');
  });

  test('decompresses the response body, without limiting its size', async () => {
    const text = 'x'.repeat(11_000_000);
    const server = await fileServer((request, response) => {
      const body = request.url === '/1' ? gzipSync(text) : Buffer.from(text);
      response.writeHead(200, { 'content-encoding': request.url === '/1' ? 'gzip' : 'utf-8' }).end(body);
    });
    const place = await workplace({ 'flow.yaml': flow(server.origin, '{ to: "{{id}}" }'), 'in.csv': 'id\n1\n2\n' });
    expect((await run(place)).code).toBe(0);
    expect((await stat(place.path('1'))).size).toBe(text.length);
    expect((await stat(place.path('2'))).size).toBe(text.length);
  });

  test('leaves no file if fail_when or retry_when matches the response', async () => {
    const server = await fileServer((_, response, index) =>
      response.writeHead(200, { 'x-state': index === 0 ? 'wait' : 'failed' }).end(`answer ${index}`),
    );
    const rules = `, retry_when: 'headers["x-state"] == "wait"', fail_when: 'headers["x-state"] == "failed"'`;
    const place = await workplace({ 'flow.yaml': flow(server.origin, '{ to: "f/{{id}}" }', rules), 'in.csv': 'id\n1\n' });
    expect((await run(place)).code).toBe(4);
    expect(server.requests.length).toBeGreaterThan(1);
    expect((await errorsOf(place))[0]).toContain('fail_when is true');
    expect(await readdir(place.path('f'))).toEqual([]);
  });

  test('shows only the file name in test-request and --dry-run, and writes nothing', async () => {
    const server = await fileServer(pdf);
    const place = await workplace({ 'flow.yaml': flow(server.origin, '{ to: "f/{{id}}.pdf" }'), 'in.csv': 'id\n1\n' });
    const tested = await place.automate(['test-request', 'flow.yaml', '--in', 'in.csv']);
    expect(tested).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('a run saves the body to f/1.pdf: 9 bytes; nothing was written here'),
    });
    expect(tested.stdout).toMatch(/saved\.path +f\/1\.pdf/);
    const json = JSON.parse((await place.automate(['test-request', 'flow.yaml', '--in', 'in.csv', '--json'])).stdout);
    expect(json).toMatchObject({ request: { save: { to: 'f/1.pdf' } }, response: { saved: { path: 'f/1.pdf', bytes: 9 } } });
    const curl = await place.automate(['test-request', 'flow.yaml', '--in', 'in.csv', '--curl']);
    expect(curl.stdout.trim()).toBe(`curl --create-dirs -o f/1.pdf ${server.origin}/1`);
    const planned = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--dry-run']);
    expect(planned.stdout).toContain('a successful answer is saved to f/1.pdf');
    expect(await place.files()).toEqual(['flow.yaml', 'in.csv']);
    expect(server.requests.length).toBeGreaterThan(1);
  });

  test('can overwrite a file that the same record saved before --resume', async () => {
    const server = await fileServer(pdf);
    const later = `  - { type: http, url: "${server.origin}/later/{{id}}", map: { s: $status } }\n`;
    const place = await workplace({
      'flow.yaml': flow(server.origin, '{ to: "f/{{id}}.pdf" }') + later,
      'in.csv': 'id\n1\n2\n',
      'other.pdf': '',
    });
    // The credits run out at the second record's later node, when the record's file is already saved.
    expect((await run(place, '--max-credits', '3', '--concurrency', '1')).code).toBe(5);
    const saved = await readdir(place.path('f'));
    expect(saved.length).toBe(2);
    const resumed = await run(place, '--resume', '--concurrency', '1');
    expect(resumed).toMatchObject({ code: 0 });
    expect(await place.read('out.csv')).toBe('id,saved.path,saved.bytes,s\n1,f/1.pdf,9,200\n2,f/2.pdf,9,200\n');
    expect((await place.files()).filter((name) => name.includes('automate-'))).toEqual([]);
  });

  test('writes to the same folder in a retry of failed records', async () => {
    let isUp = false;
    const server = await fileServer((request, response) => (isUp ? pdf(request, response) : response.writeHead(404).end()));
    const place = await workplace({ 'flow.yaml': flow(server.origin, '{ to: "{{id}}.pdf" }') });
    await mkdir(place.path('data'));
    await place.write('data/in.csv', 'id\n1\n');
    expect((await place.automate(['run', 'flow.yaml', '--in', 'data/in.csv', '--out', 'out.csv'])).code).toBe(4);
    isUp = true;
    expect((await place.automate(['retry', 'out.csv'])).code).toBe(0);
    expect(await readFile(place.path('data/1.pdf'), 'utf8')).toBe('PDF of /1');
  });

  test('cannot be combined with options that read the response body', () => {
    const messages = (more: string) =>
      flowProblems(flow('https://a.com', '{ to: "{{id}}" }', more))
        .map(({ message }) => message)
        .join();
    expect(messages(', map: { s: $status }')).toBe('');
    expect(messages(', map: { s: a.b }')).toContain('the body is saved to a file, and is not read; expected paths such as $status');
    expect(messages(', fail_when: body.a')).toContain('expected a condition on status and headers');
    expect(messages(', answer: xml')).toContain('leave out answer or save');
    expect(messages(', cache: 1h')).toContain('the cache cannot store files');
    expect(messages(', paginate: { type: link_header }')).toContain('leave out paginate or save');
    expect(flowProblems(flow('https://a.com', '{ to: "{{nope}}" }'), { header: ['id'] }).length).toBe(1);
  });
});
