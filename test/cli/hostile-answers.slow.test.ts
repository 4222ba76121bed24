import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';
import { posting, serving } from '../helpers/serving.ts';

const length = 9_999_000;
const repeated = (piece: string) => piece.repeat(Math.floor(length / piece.length));

/** Answers that took hours to read, ended the run, or are too large to keep. */
const hostile: Readonly<Record<string, readonly [type: string, body: string]>> = {
  comments: ['application/xml', repeated('<!--')],
  sections: ['text/xml', `<a>${repeated('<![CDATA[')}`],
  instructions: ['application/soap+xml', repeated('<?x ')],
  'open-comment': ['text/xml', '<a/><!--'],
  'open-instruction': ['text/xml', '<a/><?'],
  'open-section': ['text/xml', '<a/><![CDATA['],
  'open-markup': ['text/xml', '<a/><!'],
  elements: ['text/xml', `<a>${repeated('<b/>').slice(8)}</a>`],
  header: ['text/csv', `${Array.from({ length: 200_000 }, (_, index) => `n${index % 199_999}`).join(',')}\n`],
  cells: ['text/csv', repeated(',')],
  quotes: ['text/csv', `a\n"${repeated('",')}`],
  json: ['application/json; charset=latin1', repeated('[')],
};

const flow = (origin: string) => `nodes:\n  - { type: http, url: "${origin}/{{id}}", retry: { max: 0 }, map: { name: a.b } }\n`;

function hostileServer() {
  return httpServer(({ path }, response) => {
    const [type, body] = hostile[path.slice(1)] ?? ['application/xml', `<a><b>${path.slice(1)}</b></a>`];
    response.writeHead(200, { 'content-type': type }).end(body);
  });
}

test('an answer that cannot be read fails only its record', async () => {
  const server = await hostileServer();
  const ids = Object.keys(hostile).flatMap((id, index) => [`good${index}`, id]);
  const place = await workplace({ 'flow.yaml': flow(server.origin), 'rows.csv': `id\n${ids.join('\n')}\n` });
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
  expect([code, stderr]).toEqual([4, expect.stringContaining('24 read, 12 written, 12 failed')]);
  const good = Array.from({ length: 12 }, (_, index) => `good${index},good${index}\n`);
  expect(await place.read('out.csv')).toBe(`id,name\n${good.join('')}`);
  const errors = (await place.read('out.errors.csv')).trim().split('\n').slice(1);
  expect(errors.map((line) => line.split(',').slice(0, 3))).toEqual(Object.keys(hostile).map((id) => [id, 'http-1', 'parse']));
  expect(errors[7]).toContain('the answer has more than 1,000,000 elements, attributes and comments');
  expect(errors[8]).toContain('line 1, column 200000: two columns have the name');
  expect(errors[9]).toContain('the answer has more than 1,000,000 cells');
});

/** Valid XML that takes a few hundred ms to read, but whose elements stay below the limit. */
const long = `<a><b>${repeated('&lt;')}</b></a>`;

describe('while an answer of 10 MB is read', () => {
  test('SIGTERM ends the run, which can be resumed', async () => {
    let send: () => void = () => undefined;
    const server = await httpServer(({ path }, response) => {
      response.writeHead(200, { 'content-type': 'text/xml' });
      if (path === '/1') response.end('<a><b>1</b></a>');
      // The signal is sent when the whole answer is on its way.
      else response.end(long, () => send());
    });
    const place = await workplace({ 'flow.yaml': flow(server.origin), 'rows.csv': `id\n1\n${'2\n'.repeat(200)}` });
    const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--concurrency', '2'];
    const { child, finished } = place.start(run);
    send = () => void child.kill('SIGTERM');
    const { code, stderr } = await finished;
    expect([code, stderr]).toEqual([143, expect.stringContaining('--resume')]);
    expect(server.requests.length).toBeLessThan(20);
    expect((await place.read('out.csv')).slice(0, 12)).toBe('id,name\n1,1\n');
  });

  test('the server answers other requests', async () => {
    const server = await httpServer((_, response) => response.writeHead(200, { 'content-type': 'text/xml' }).end(long));
    const { send, key } = await serving({ users: flow(server.origin) });
    const call = send('/v1/flows/users/calls', { key: key(), ...posting({ id: 1 }) });
    let isRunning = true;
    call.finally(() => {
      isRunning = false;
    });
    while (isRunning) expect((await send('/healthz')).status).toBe(200);
    expect((await call).status).toBe(200);
  });
});
