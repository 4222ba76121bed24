import { createCipheriv } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { askingFlow, csvOf, idsTo } from '../helpers/asking.ts';
import { type Finished, readAllFiles, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { passphrase, vaultPlace } from '../helpers/light-vault.ts';
import { unusedPort } from '../helpers/raw-server.ts';
import { hasTerminal, shell, unlessTerminal } from '../helpers/shell.ts';

const canary = 'canary/"7f3a+Zq9= 8x';
const base64 = Buffer.from(`user:${canary}`).toString('base64');
const forms = [
  canary,
  encodeURIComponent(canary),
  encodeURIComponent(canary).replaceAll('%20', '+'),
  JSON.stringify(canary).slice(1, -1),
  Buffer.from(canary).toString('base64'),
  base64,
];

/** Starts a server that echoes all that it receives, in every kind of failure. */
async function mirror() {
  return httpServer(({ path, headers }, response) => {
    const said = [path, ...Object.values(headers), ...forms].join(' ');
    switch (Number(/\d+/.exec(path)?.[0]) % 5) {
      case 0:
        return json(response, { name: said });
      case 1:
        return response.writeHead(400, { 'x-echo': 'no' }).end(said);
      case 2:
        return response.writeHead(200, { 'content-type': 'application/json' }).end(`{"name": ${said}`);
      case 3:
        return response.writeHead(302, { location: `http://localhost:1/?x=${encodeURIComponent(canary)}` }).end();
      default:
        return response.destroy();
    }
  });
}

/** Returns the output of the commands and the content of all files in a folder, as one string. */
async function writtenBy(outcomes: readonly Finished[], folder: string): Promise<string> {
  return [...outcomes.flatMap(({ stdout, stderr }) => [stdout, stderr]), await readAllFiles({ folder })].join('\n');
}

describe('a secret in an environment variable', () => {
  test.each([
    ['bearer', '{ type: bearer, credential: key }'],
    ['a header', '{ type: api_key, header: X-API-Key, credential: key }'],
    ['the query', '{ type: api_key, query: key, credential: key }'],
    ['basic', '{ type: basic, username: user, credential: key }'],
  ])('is masked wherever a run writes: %s', async (_, auth) => {
    const server = await mirror();
    const more = `, auth: ${auth}, retry: { max: 1, backoff: 1ms }`;
    const place = await workplace({
      'flow.yaml': askingFlow(server.origin, more),
      'refused.yaml': askingFlow(`http://127.0.0.1:${await unusedPort()}`, more),
      'rows.csv': csvOf(20),
    });
    const env = { AUTOMATE_CREDENTIAL_KEY: canary };
    const rest = ['--in', 'rows.csv', '--events', 'events.ndjson', '--summary', 'summary.json'];
    const runs = [
      await place.automate(['run', 'flow.yaml', '--out', 'out.csv', ...rest], { env }),
      // The run ends early, so its journal remains.
      await place.automate(['run', 'flow.yaml', '--out', 'out2.csv', '--errors', 'errors2.csv', ...rest, '--max-errors', '3'], { env }),
      await place.automate(['run', 'refused.yaml', '--out', 'out3.csv', '--errors', 'errors3.csv', ...rest], { env }),
      await place.automate(['run', 'flow.yaml', '--dry-run', '--in', 'rows.csv'], { env }),
      await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv'], { env }),
      await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--record', '5', '--curl'], { env }),
    ];
    expect(runs.map(({ code }) => code).slice(0, 3)).toEqual([4, 5, expect.any(Number)]);
    expect(JSON.stringify(server.requests)).toMatch(/canary|Y2FuYXJ5|dXNlcjpjYW5hcn/);
    expect(await place.files()).toEqual(
      expect.arrayContaining(['out.csv', 'out.errors.csv', 'out2.csv.automate-run', 'events.ndjson', 'summary.json']),
    );
    const written = await writtenBy(runs, place.folder);
    for (const form of forms) expect(written).not.toContain(form);
    expect(written).toContain('***');
  });

  test('is refused, without being shown, if the flow also contains it', async () => {
    const flow = `nodes: [{ type: http, url: "https://example.com", headers: { Authorization: "Bearer ${'s3cr3t'.repeat(4)}" } }]`;
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(1) });
    const { code, stdout, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
    expect(code).toBe(3);
    expect(stdout + stderr).not.toContain('s3cr3t');
  });
});

describe("the secrets in the vault and in a file, and the vault's passphrase", () => {
  const ofFile = 'second/"4d2b+Yw7= 1z';
  const formsOf = (text: string) => [
    text,
    encodeURIComponent(text),
    encodeURIComponent(text).replaceAll('%20', '+'),
    JSON.stringify(text).slice(1, -1),
    Buffer.from(text).toString('base64'),
    Buffer.from(`user:${text}`).toString('base64'),
  ];
  const hidden = [canary, ofFile, passphrase];
  const shown = hidden.flatMap(formsOf);
  const said = shown.join(' ');

  /** One response for each class of failure, after one successful response. */
  const answers: Record<string, (response: ServerResponse) => unknown> = {
    network: (response) => response.destroy(),
    timeout: () => {},
    http: (response) => response.writeHead(400, { 'x-said': 'no' }).end(said),
    parse: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(`{"name": ${said}`),
    mapping: (response) => json(response, { name: said, list: said }),
  };
  const record = (id: string, more: object = {}) => JSON.stringify({ id, q: 'x', note: said, ...more });
  const rows = [
    record('fine'),
    `{"id": ${said}`,
    JSON.stringify({ id: 'template', note: said }),
    record('request', { note: `${said}\n` }),
    ...Object.keys(answers).map((id) => record(id)),
    record('output', { extra: said }),
  ];
  const flowOf = (origin: string) => `nodes:
  - { id: ask, type: http, when: id != "timeout", url: "${origin}/{{id}}?q={{q}}", headers: { X-Note: "a{{note}}" }, map: { name: name, item: "list[].v" }, auth: { type: bearer, credential: key }, retry: { max: 0 } }
  - { id: more, type: http, url: "${origin}/fine", auth: { type: basic, username: user, credential: other }, map: { more: name } }
  - { id: wait, type: http, when: id == "timeout", url: "${origin}/{{id}}?q={{q}}", headers: { X-Note: "a{{note}}" }, auth: { type: bearer, credential: key }, timeout: 300ms, retry: { max: 0 } }
`;

  test('are masked in every class of failure and in the output of every command', async () => {
    const server = await httpServer(({ path }, response) => {
      const [, id = ''] = /^\/(\w+)/.exec(path) ?? [];
      const fail = answers[id];
      return fail ? fail(response) : json(response, { name: said, list: [{ v: said }] });
    });
    const place = await vaultPlace({
      'flow.yaml': flowOf(server.origin),
      'rows.ndjson': `${rows.join('\n')}\n`,
      'plain.ndjson': '{"id":"fine","q":"x","note":"x"}\n',
    });
    const outside = await workplace({ secret: `${ofFile}\n` });
    const env = { ...place.env, AUTOMATE_CREDENTIAL_OTHER_FILE: outside.path('secret') };
    const automate = (args: string, stdin?: string) => place.automate(args.split(' '), { env, ...(stdin === undefined ? {} : { stdin }) });
    // A command that begins while another runs needs its own process.
    const oneByOne = async (all: readonly string[]) => {
      const ended: Finished[] = [];
      for (const args of all) ended.push(await automate(args));
      return ended;
    };
    const told = '--events events.ndjson --summary summary.json --errors';
    const runs = [
      await automate('credentials set key --expires 5d', canary),
      await automate(`run flow.yaml --in rows.ndjson --out out.csv ${told} errors.ndjson`),
      // The run ends early, so its journal remains.
      await automate(`run flow.yaml --in rows.ndjson --out out2.csv ${told} errors2.ndjson --max-errors 1 --concurrency 1 --force`),
      // A dry run and --curl do not load secrets, so they cannot mask secrets that are in the records.
      await automate('run flow.yaml --in plain.ndjson --dry-run'),
      await automate('test-request flow.yaml --in plain.ndjson --curl'),
      ...(await oneByOne([1, 2, 3, 4, 7, 8, 9].map((number) => `test-request flow.yaml --in rows.ndjson --record ${number}`))),
      await automate('test-request flow.yaml --in rows.ndjson --json'),
      await automate('validate flow.yaml'),
      await automate('credentials set key', `${canary}2`),
      await automate('credentials restore key'),
      ...(await oneByOne(['list', 'list --json', 'show key', 'check', 'backend', 'backend --json'].map((args) => `credentials ${args}`))),
      await automate(`connections add http crm --base-url ${server.origin} --auth bearer --credential key`),
      await automate('connections test crm --path /fine'),
      await automate('connections test crm --path /network'),
      await automate('connections test crm --path /http'),
    ];
    expect(runs.slice(0, 5).map(({ code }) => code)).toEqual([0, 4, 5, 0, 0]);
    expect(runs.slice(-3).map(({ code }) => code)).toEqual([0, 7, expect.any(Number)]);
    const classes = (await place.read('errors.ndjson'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)._error.class);
    expect(classes.sort()).toEqual(['http', 'input', 'mapping', 'network', 'output', 'parse', 'request', 'template', 'timeout']);
    expect(await place.files()).toEqual(expect.arrayContaining(['events.ndjson', 'out.csv', 'out2.csv.automate-run', 'summary.json']));
    // Both credentials were sent, so both secrets had to be masked.
    expect(new Set(server.requests.map(({ headers }) => headers.authorization?.split(' ')[0]))).toEqual(new Set(['Bearer', 'Basic']));
    // The input is deleted, because it contains the secrets unmasked.
    await rm(place.path('rows.ndjson'));
    const text = await writtenBy(runs, place.folder);
    expect(text).toContain('***');
    const hexed = hidden.map((one) => Buffer.from(one).toString('hex'));
    for (const form of [...shown, ...hexed]) expect(text).not.toContain(form);
  });
});

describe('a secret with 16,384 characters', () => {
  /** Returns bytes that look random but are the same in every run. */
  const random = (count: number) => createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(count));
  const marks = '-./:;<=>?@[]^_{|}~!"#$%&()*+,\\xy';
  const windows = (text: string) => Array.from({ length: text.length - 11 }, (_, at) => text.slice(at, at + 12));

  test.each([
    ['punctuation', [...random(16_384)].map((byte) => marks[byte % 32]).join('')],
    ['base64', random(12_288).toString('base64')],
  ])(
    'is masked if it consists of %s and a server echoes it',
    async (_, secret) => {
      expect(secret).toHaveLength(16_384);
      const saids = [secret, encodeURIComponent(secret), JSON.stringify(secret), btoa(secret)];
      const server = await httpServer(({ path }, response) => {
        const id = Number(path.slice(1));
        const said = `I know ${saids[id % 4]} well`;
        return id > 4 ? response.writeHead(400).end(said) : json(response, { name: said });
      });
      // Node.js servers refuse such a long header, so the program loads the secret but never sends it.
      const other = `{ type: http, when: id == 0, url: "${server.origin}/", map: { x: name }, auth: { type: bearer, credential: key } }`;
      const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", map: { name: name }, retry: { max: 0 } }, ${other}]\n`;
      const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(5) });
      const env = { AUTOMATE_CREDENTIAL_KEY: secret };
      const run = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'], { env });
      const preview = await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv'], { env });
      expect([run.code, preview.code]).toEqual([4, 0]);
      expect(server.requests).toHaveLength(6);
      expect((await place.read('out.csv')).match(/I know .*\*\*\*.* well/g)).toHaveLength(4);
      const hidden = new Set(saids.flatMap(windows));
      const text = await writtenBy([run, preview], place.folder);
      expect(windows(text).filter((part) => hidden.has(part))).toEqual([]);
    },
    180_000,
  );
});

describe('a message that is truncated within a secret', () => {
  // The secret has no digits, because the numbers in an events file can contain any digits by chance.
  const secret = 'SECRET-uvwxyzUVWX-klmnopqrst/"KLMNO PQRST';
  const inBase64 = (text: string) => Buffer.from(text).toString('base64');
  const pieces = (text: string, length: number) => Array.from({ length: text.length - length + 1 }, (_, at) => text.slice(at, at + length));
  const sixes = pieces(secret, 6);
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  const written = [...sixes, ...sixes.map(encodeURIComponent), ...sixes.map(inJson), ...pieces(inBase64(secret), 8)];
  /** Without the length that leads to 429, which is sent again. */
  const lengths = idsTo(210)
    .slice(99)
    .filter((length) => Number(length) !== 129);

  /** Responds to each record with a different status. The summary then shows each message separately. */
  const failing = (length: number, said: string, response: ServerResponse) =>
    response.writeHead(300 + length, { 'content-type': 'text/plain' }).end('x'.repeat(length) + said);
  const noJson = (length: number, said: string, response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(length) + said);
  const cutOff = (length: number, said: string, response: ServerResponse) => {
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, { 'content-type': 'application/json', connection: 'close' }).write(`{"a":"${said.slice(0, length - 100)}`);
    response.end();
  };
  const away = (length: number, said: string, response: ServerResponse) =>
    response.writeHead(302, { location: `http://localhost:1/${'x'.repeat(length)}?${encodeURIComponent(said)}` }).end();

  test.each([
    ['raw', failing, (text: string) => text],
    ['percent-encoded', failing, encodeURIComponent],
    ['in JSON', failing, inJson],
    ['in base64', failing, inBase64],
    ['in what is no JSON', noJson, (text: string) => text],
    ['in JSON that is cut off', cutOff, inJson],
    ['in a redirect', away, (text: string) => text],
  ] as const)('never shows more than five characters of the secret: %s', async (_, answer, encode) => {
    const server = await httpServer(({ path, headers }, response) => {
      const [type, ...said] = String(headers.authorization).split(' ');
      return answer(Number(path.slice(1)), ` ${type} ${encode(said.join(' '))}`, response);
    });
    const place = await workplace({
      'flow.yaml': askingFlow(server.origin, ', auth: { type: bearer, credential: key }, retry: { max: 0 }'),
      'rows.csv': `id\n${lengths.join('\n')}\n`,
    });
    const env = { AUTOMATE_CREDENTIAL_KEY: secret };
    const files = ['--out', 'out.csv', '--events', 'events.ndjson', '--summary', 'summary.json'];
    const outcomes = [await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--keep-going', ...files], { env })];
    // A preview shortens sample values more than other strings.
    for (const id of [120, 130, 140, 170, 185]) {
      outcomes.push(await place.automate(['test-request', 'flow.yaml', '--set', `id=${id}`], { env }));
    }
    expect(outcomes.map(({ code }) => code)).toEqual(Array(6).fill(4));
    expect(server.requests).toHaveLength(lengths.length + 5);
    const texts = outcomes.flatMap(({ stdout, stderr }) => [stdout, stderr]);
    for (const name of ['out.errors.csv', 'events.ndjson', 'summary.json']) texts.push(await place.read(name));
    for (const text of texts) expect(written.filter((part) => text.includes(part))).toEqual([]);
    expect(texts.join('')).toContain('***...');
  });
});

describe('a terminal escape sequence', () => {
  const steering = '\u001b]0;owned\u0007\u001b[2Jboo\u009b31m\u202e';
  test('from a server does not reach the terminal or the errors file', async () => {
    const server = await httpServer(({ path }, response) => {
      if (path === '/2') response.writeHead(400).end(`no ${steering} way`);
      else json(response, { name: steering });
    });
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': `id,note\n1,${steering}\n2,${steering}\n` });
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
    expect(code).toBe(4);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    expect(await place.read('out.csv')).toContain(`1,${steering},${steering}\n`);
    expect(await place.read('out.errors.csv')).toContain(`2,${steering},ask,http,400,the server answered 400: no `);
  });

  test('in a field name, a file name or a flow is removed from messages', async () => {
    const place = await workplace({ 'flow.yaml': `nodes: [{ type: "h\\e[31mttp" }]\n`, 'rows.csv': `id\n1\n` });
    const bad = `${steering}.csv`;
    for (const args of [
      ['run', 'flow.yaml', '--in', 'rows.csv'],
      ['run', 'flow.yaml', '--in', bad],
    ]) {
      const { stderr } = await place.automate(args);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
      expect(stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    }
  });

  test.skipIf(!hasTerminal)(`from a response header is removed from a preview in a terminal${unlessTerminal}`, async () => {
    const server = await httpServer((_, response) => response.writeHead(200, { 'x-evil': 'a\u009b31mb' }).end('{}'));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(1) });
    const command = 'node "$AUTOMATE" test-request flow.yaml --in rows.csv';
    const { stdout } = await shell(place, `script -qec '${command}' /dev/null`);
    expect(stdout).toContain('x-evil: a31mb');
  });
});
