import { chmod, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/credentials/redact.ts';
import { AnswersDatabase } from '../../src/http/answers/answers-database.ts';
import { KeptAnswers } from '../../src/http/answers/kept-answers.ts';
import { answeringServer, type ServerAnswer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';
import type { SeenRequest } from '../helpers/http-server.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
const kept = [...run, '--keep-answers'];
const again = [...kept, '--replace'];

/** A workplace with a server that numbers its answers. `asked` returns the requests since its last call. */
async function place(flow: (origin: string) => string, answer: (request: SeenRequest, index: number) => ServerAnswer = numbered) {
  const requests: string[] = [];
  const server = await answeringServer((request, index) => {
    requests.push(`${request.method} ${request.path}`);
    return answer(request, index);
  });
  const work = await workplace({ 'flow.yaml': flow(server.origin), 'rows.csv': 'id,note\n1,a\n2,b\n3,c\n' });
  return { ...work, origin: server.origin, asked: () => requests.splice(0).sort() };
}

const numbered = ({ path }: SeenRequest, index: number): ServerAnswer => ({
  body: { name: `of ${path}`, n: index + 1, phone: `+${index}` },
});

const asking =
  (more: string, options = '') =>
  (origin: string) =>
    `nodes: [{ id: ask, type: http, url: "${origin}/{{id}}", map: { name: name ${more} } ${options} }]\n`;

describe('automate run --keep-answers', () => {
  test('a first run sends and writes what a run without it does, and a later run sends nothing', async () => {
    const { automate, asked, read, write, origin, path } = await place(asking(''));
    await automate(run);
    const [without, plain] = [asked(), await read('out.csv')];
    const { code, stderr } = await automate([...kept, '--force']);
    expect([code, asked(), await read('out.csv')]).toEqual([0, without, plain]);
    expect(stderr).toContain('\n  kept for later runs: 3 answers\n');
    expect((await stat(path('out.csv.automate-answers'))).mode & 0o777).toBe(0o600);
    await write('flow.yaml', asking(', phone: phone')(origin));
    await write('rows.csv', 'note,id\nc,3\nb,2\na,1\n');
    const second = await automate([...again, '--summary', 's.json']);
    expect([second.code, asked()]).toEqual([0, []]);
    expect(second.stderr).toContain('\n  3 answers were kept: 0 requests, 0 credits\n');
    expect(await read('out.csv')).toMatch(/^note,id,name,phone\nc,3,of \/3,\+\d\nb,2,of \/2,\+\d\na,1,of \/1,\+\d\n$/);
    expect(JSON.parse(await read('s.json'))).toMatchObject({ answers: { used: 3, kept: 0 }, requests: 0 });
  });

  test('sends what is missing, and keeps that, too', async () => {
    const { automate, asked, write } = await place(asking(''));
    await automate(kept);
    asked();
    await write('rows.csv', 'id,note\n1,a\n2,b\n3,c\n4,d\n');
    expect((await automate(again)).stderr).toContain('  3 answers were kept: 1 request, 1 credit\n  kept for later runs: 1 answer\n');
    expect(asked()).toEqual(['GET /4']);
    await automate(again);
    expect(asked()).toEqual([]);
  });

  test('equal requests get their answers one after another, and another one is sent', async () => {
    const flow = (origin: string) => `nodes:
  - { type: http, url: "${origin}/find", map: { before: n } }
  - { type: http, method: POST, url: "${origin}/make", body: { a: 1 }, map: { made: n } }
  - { type: http, url: "${origin}/find", map: { after: n } }
`;
    const { automate, asked, read, write } = await place(flow);
    await automate([...kept, '--concurrency', '1']);
    expect(asked()).toHaveLength(9);
    const first = await read('out.csv');
    await automate(again);
    expect([asked(), await read('out.csv')]).toEqual([[], first]);
    await write('rows.csv', 'id,note\n1,a\n2,b\n3,c\n4,d\n');
    await automate(again);
    expect(asked()).toEqual(['GET /find', 'GET /find', 'POST /make']);
  });

  test('keeps no failed answer, and asks again with retry', async () => {
    let isBroken = true;
    const { automate, asked, read } = await place(asking(''), (request, index) =>
      isBroken && request.path === '/2' ? { status: 404 } : numbered(request, index),
    );
    expect((await automate(kept)).code).toBe(4);
    asked();
    isBroken = false;
    expect((await automate(['retry', 'out.csv'])).code).toBe(0);
    expect(asked()).toEqual(['GET /2']);
    await automate(again);
    expect([asked(), await read('out.csv')]).toEqual([[], expect.stringContaining('\n2,b,of /2\n')]);
  });

  test('an answer with a secret is not kept', async () => {
    const { automate, asked } = await place(asking('', ', auth: { type: bearer, credential: crm }'), ({ headers }) => ({
      body: { name: `you sent ${headers.authorization}` },
    }));
    const env = { AUTOMATE_CREDENTIAL_CRM: 'a-long-secret' };
    expect((await automate(kept, { env })).stderr).toContain('\n  not kept: 3 answers with a secret\n');
    const why = await automate(['why', 'out.csv', '--record', '1']);
    expect([why.code, why.stderr]).toEqual([2, expect.stringContaining('or their answers contain a secret')]);
    asked();
    await automate(again, { env });
    expect(asked()).toHaveLength(3);
  });

  test('a node with keep_answers: false sends again, and answers that are too old are asked for again', async () => {
    const { automate, asked, write, origin } = await place(asking('', ', keep_answers: false'));
    await automate(kept);
    await automate(again);
    expect(asked()).toHaveLength(6);
    await write('flow.yaml', asking('')(origin));
    await automate(again);
    asked();
    await automate([...run, '--keep-answers', '0ms', '--replace']);
    expect(asked()).toHaveLength(3);
    await automate(['run', '--keep-answers', 'flow.yaml', ...run.slice(2), '--replace']);
    expect(asked()).toEqual([]);
  });

  test('a changed request is sent, and the nodes before it cost nothing', async () => {
    const flow = (path: string) => (origin: string) =>
      `nodes: [{ type: http, url: "${origin}/{{id}}", map: { name: name } }, { type: http, url: "${origin}/${path}/{{id}}", map: { n: n } }]`;
    const { automate, asked, write, origin } = await place(flow('a'));
    await automate(kept);
    asked();
    await write('flow.yaml', flow('b')(origin));
    await automate(again);
    expect(asked()).toEqual(['GET /b/1', 'GET /b/2', 'GET /b/3']);
  });

  test('all pages of a list are kept, and the last answer of a poll', async () => {
    const flow = (origin: string) => `nodes:
  - { type: http, url: "${origin}/list?id={{id}}", paginate: { type: next_url, path: next }, map: { item: "items[]" } }
  - type: poll
    every: 1ms
    until: done == true
    nodes: [{ type: http, url: "${origin}/job?id={{id}}&item={{item}}", map: { done: done } }]
`;
    const states = new Map<string, number>();
    const { automate, asked, read, write } = await place(flow, ({ path }) => {
      if (path.startsWith('/job')) {
        states.set(path, (states.get(path) ?? 0) + 1);
        return { body: { done: states.get(path) === 3 } };
      }
      const next = path.includes('page') ? {} : { next: `${path}&page=2` };
      return { body: { items: path.includes('page') ? ['c'] : ['a', 'b'], ...next } };
    });
    await write('rows.csv', 'id\n1\n');
    expect((await automate(kept)).code).toBe(0);
    const first = await read('out.csv');
    expect(asked()).toHaveLength(2 + 9);
    expect((await automate(again)).stderr).toContain('  5 answers were kept: 0 requests');
    expect([asked(), await read('out.csv')]).toEqual([[], first]);
  });

  test('works with a cache, whose answers stay as they are', async () => {
    const { automate, asked, write } = await place(asking('', ', cache: 1h'));
    await write('rows.csv', 'id\n1\n1\n2\n');
    await automate(kept);
    asked();
    await automate(['cache', 'clear']);
    await automate(again);
    expect(asked()).toEqual([]);
    expect((await automate(['cache', 'info', '--json'])).stdout).toContain('"entries": 0');
  });

  test('keeps answers from the cache, too', async () => {
    const { automate, asked, read, write } = await place(asking(', at: $at, cached: $cached', ', cache: 1h'));
    await automate(run);
    const first = await read('out.csv');
    expect(asked()).toHaveLength(3);
    await write('rows.csv', 'id,note\n1,a\n2,b\n3,c\n3,d\n3,e\n');
    expect((await automate(again)).stderr).toContain('  kept for later runs: 3 answers\n');
    expect((await automate(['why', 'out.csv', '--record', '5'])).stdout).toContain('ask: GET http');
    await write('rows.csv', 'id,note\n1,a\n2,b\n3,c\n');
    await automate(['cache', 'clear']);
    await automate(again);
    expect([asked(), await read('out.csv')]).toEqual([[], first.replaceAll('false', 'true')]);
  });

  test('with --update, changed nodes run all records instead of refusing', async () => {
    const { automate, asked, write, origin, read } = await place(asking(''));
    await automate([...kept, '--update']);
    asked();
    await write('flow.yaml', asking(', phone: phone')(origin));
    expect((await automate([...run, '--update'])).code).toBe(73);
    expect((await automate([...kept, '--update'])).code).toBe(0);
    expect([asked(), await read('out.csv')]).toEqual([[], expect.stringContaining('1,a,of /1,+')]);
  });

  test.each([
    [['--keep-answers'], 'automate: --keep-answers needs an output file, because the answers are kept beside it\n  give one with --out\n'],
    [['--replay'], 'automate: --replay needs an output file, because the answers are kept beside it\n  give one with --out\n'],
    [
      ['--keep-answers', '--out', 'out.csv', '--queue', 'redis://127.0.0.1:1'],
      'automate: --keep-answers does not work with --queue, whose workers are on other machines: leave one of the two out\n',
    ],
    [
      ['--max-kept', '1GB', '--out', 'out.csv'],
      'automate: --max-kept works only with --keep-answers: add --keep-answers, or leave --max-kept out\n',
    ],
    [
      ['--out', 'out.csv', '--keep-answers', '30days'],
      `automate: option '--keep-answers [age]' argument '30days' is invalid. expected nothing, or a duration with its unit, such as 30d, found "30days"\n(see automate run --help)\n`,
    ],
    [
      ['--out', 'out.csv', '--update', '--max-age', '30'],
      `automate: option '--max-age <duration>' argument '30' is invalid. expected a duration with its unit, such as 30d, found "30"\n(see automate run --help)\n`,
    ],
  ])('%j is refused', async (options, message) => {
    const { automate, asked, files } = await place(asking(''));
    const { code, stderr } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', ...options], {
      env: { AUTOMATE_QUEUE_KEY: 'x'.repeat(40) },
    });
    expect([code, stderr]).toEqual([2, message]);
    expect([asked(), (await files()).filter((name) => name.startsWith('out'))]).toEqual([[], []]);
  });
});

describe('automate run --replay', () => {
  test('is refused if no answers are kept, and writes nothing', async () => {
    const { automate, asked, files } = await place(asking(''));
    const before = await files();
    for (const more of [[], ['--force'], ['--replace'], ['--dry-run']]) {
      const { code, stderr } = await automate([...run, '--replay', ...more]);
      const reason = '--replay sends nothing, and no answers are kept: there is no out.csv.automate-answers';
      const advice = 'run the flow once with --keep-answers, or give the output of such a run with --out';
      expect([code, stderr]).toEqual([2, expect.stringContaining(`automate: ${reason}\n  ${advice}\n`)]);
    }
    expect([asked(), await files()]).toEqual([[], before]);
  });

  test.each(['{ type: set, fields: { a: b } }', '{ type: geocode, address: "{{note}}" }'])('needs no kept answers for %s', async (node) => {
    const { automate } = await place(() => `nodes: [${node}]`);
    const { code, stderr } = await automate([...run, '--replay']);
    expect(code, stderr).toBe(0);
  });

  test('reads a file that may not be written', async () => {
    const { automate, path, read } = await place(asking(''));
    await automate(kept);
    const bytes = await readFile(path('out.csv.automate-answers'));
    const database = new AnswersDatabase(path('out.csv.automate-answers'), 1000, true);
    const session = database.readOnlySession();
    const options = { path: path('out.csv.automate-answers'), session, env: 'default', maxAgeMs: undefined, maxBytes: 1e9, isReplay: true };
    const answers = new KeptAnswers(
      { ...options, isShared: false, redactor: createRedactor(), wallNow: Date.now, warn: expect.unreachable },
      database,
    );
    const [{ key = '', place: at = '', node = '' } = {}] = database.usedFor(2)?.answers ?? [];
    const question = { key: key.slice(key.indexOf('\n') + 1), record: 2, place: at.replace(` ${node}`, ''), node, use: 'once' } as const;
    expect(answers.find(question)).toBeDefined();
    expect(answers.find(question)).toBeUndefined();
    await answers.close();
    expect(await readFile(path('out.csv.automate-answers'))).toEqual(bytes);
    expect(await read('out.csv')).toContain('2,b,of /2');
  });

  test.skipIf(process.getuid?.() === 0)('runs over a file that may not be written, which a run that keeps answers does not', async () => {
    const { automate, asked, path } = await place(asking(''));
    await automate(kept);
    asked();
    await chmod(path('out.csv.automate-answers'), 0o400);
    expect((await automate([...run, '--replay', '--replace'])).code).toBe(0);
    expect((await automate(['why', 'out.csv', '--record', '2'])).code).toBe(0);
    const { code, stderr } = await automate(again);
    expect([code, asked(), stderr]).toEqual([74, [], expect.stringContaining('this user may not write to the file')]);
  });

  test('needs no server and no credential, and writes the same bytes', async () => {
    const { automate, asked, read } = await place(asking('', ', auth: { type: bearer, credential: crm }'));
    await automate(kept, { env: { AUTOMATE_CREDENTIAL_CRM: 'a-long-secret' } });
    const first = await read('out.csv');
    asked();
    expect((await automate([...run, '--replay', '--replace'])).code).toBe(0);
    expect([asked(), await read('out.csv')]).toEqual([[], first]);
  });

  test('a request without a kept answer fails its record', async () => {
    const { automate, asked, write, read, origin } = await place(asking(''));
    await automate(kept);
    asked();
    await write('rows.csv', 'id,note\n4,d\n1,a\n');
    expect((await automate([...run, '--replay', '--replace'])).code).toBe(4);
    expect(asked()).toEqual([]);
    expect(await read('out.errors.csv')).toContain(`no answer is kept for GET ${origin}/4`);
    expect(await read('out.errors.csv')).toContain(',network,');
  });

  test.each([
    [
      'body: { at: { cel: "string(now())" } }, method: POST',
      'its requests contain the time, so no kept answer is for the same request (now())',
    ],
    ['save: { to: "{{id}}.txt" }', 'the files that it saves are not among the kept answers (save)'],
  ])('refuses %s', async (options, reason) => {
    const { automate } = await place((origin) => `nodes: [{ id: ask, type: http, url: "${origin}/{{id}}", ${options} }]`);
    const { code, stderr } = await automate([...run, '--replay']);
    expect([code, stderr]).toEqual([2, `automate: --replay cannot run the node ask: ${reason}\n`]);
  });
});

test('--replay refuses requests with a field that was computed from the time, and no other use of now()', async () => {
  const flow = (url: string) => (origin: string) =>
    `nodes:
  - { type: set, fields: { at: { cel: "string(now())" } } }
  - { id: ask, type: http, url: "${origin}/${url}", map: { name: name } }
`;
  const { automate, write, origin } = await place(flow('{{id}}'));
  await automate(kept);
  expect((await automate([...run, '--replay', '--replace'])).code).toBe(0);
  await write('flow.yaml', flow('{{id}}?at={{at}}')(origin));
  const { code, stderr } = await automate([...run, '--replay', '--replace']);
  const reason = 'its requests contain the time, so no kept answer is for the same request (now())';
  expect([code, stderr]).toEqual([2, `automate: --replay cannot run the node ask: ${reason}\n`]);
});

describe('automate answers', () => {
  test.each(['torn', 'garbage'])('a %s file ends the run before anything is sent, and says how to delete it', async (damage) => {
    const { automate, asked, path } = await place(asking(''));
    await automate(kept);
    asked();
    const answers = path('out.csv.automate-answers');
    await (damage === 'torn' ? truncate(answers, 9000) : writeFile(answers, 'not a database'));
    for (const how of [again, [...run, '--replay', '--replace'], ['answers', 'out.csv']]) {
      const { code, stderr } = await automate(how);
      expect([code, stderr]).toEqual([74, expect.stringContaining('the kept answers in out.csv.automate-answers cannot be used: ')]);
      expect(stderr).toContain('\n  to delete them, so that every request is sent again: automate answers clear out.csv\n');
    }
    expect(asked()).toEqual([]);
    expect((await automate(['answers', 'clear', 'out.csv'])).code).toBe(0);
    expect((await automate(again)).code).toBe(0);
  });

  test('shows and deletes kept answers, and the plan counts them', async () => {
    const { automate, asked, read, write } = await place(asking(''));
    await automate(kept);
    await write('rows.csv', 'id,note\n1,a\n2,b\n2,b\n');
    const plan = (await automate([...again, '--dry-run', '--summary', 'plan.json'])).stdout;
    expect(plan).toMatch(/\nkept: +2 actions have a kept answer, and send nothing\ncredits: +1\n/);
    expect(JSON.parse(await read('plan.json'))).toMatchObject({ actions: { least: 3 }, kept_answers: 2, credits: { least: 1, most: 1 } });
    const { stdout } = await automate(['answers', 'out.csv', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ path: 'out.csv.automate-answers', answers: 3, bytes: expect.any(Number) });
    expect((await automate(['answers', 'out.csv'])).stdout).toMatch(/\nkept +3 answers, [\d.]+ kB\n/);
    expect((await automate(['answers', 'clear', 'out.csv', '--older', '1h'])).stderr).toBe('0 kept answers are deleted\n');
    expect((await automate(['answers', 'clear', 'out.csv'])).stderr).toBe('3 kept answers are deleted\n');
    const none = await automate(['answers', 'out.csv']);
    expect([none.code, none.stderr]).toEqual([
      2,
      'automate: out.csv has no kept answers: its runs had no --keep-answers, or their answers were deleted\n',
    ]);
    asked();
    await automate(again);
    expect(asked()).toHaveLength(3);
  });
});
