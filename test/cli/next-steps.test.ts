import { expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';
import { shell, typed } from '../helpers/shell.ts';

/** Returns the commands that a summary suggests. */
function offered(stderr: string): string[] {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('    automate '))
    .map((line) => line.trim());
}

/** Creates a flow over eight records, of which the third and the seventh fail until `state.isWell` is true. */
async function people(input: string) {
  const state = { isWell: false };
  const server = await answeringServer(({ path }) =>
    !state.isWell && /[37]$/.test(path) ? { status: 404 } : { body: { name: `n${path.slice(1)}` } },
  );
  const rows = Array.from({ length: 8 }, (_, index) => `${index + 1};it's ${index + 1}\n`).join('');
  const place = await workplace({
    'my flow.yaml': `nodes: [{ type: http, url: "${server.origin}/{{id}}", map: [name] }]`,
    [input]: `id;note\n${rows}`,
  });
  return { ...place, place, state };
}

const start = ['run', 'my flow.yaml', '--concurrency', '1', '--delimiter', ';'];

test('the summary prints a command that retries the failed records', async () => {
  const { automate, place, state, read } = await people('rows.csv');
  const { code, stderr } = await automate([...start, '--in', 'rows.csv', '--out', 'out.csv', '--limit=7', '--summary', 's.json']);
  expect(code).toBe(4);
  expect(offered(stderr)).toEqual(['automate retry out.csv']);
  expect(JSON.parse(await read('s.json')).next).toEqual(offered(stderr));
  state.isWell = true;
  await typed(place, offered(stderr)[0] as string);
  expect(await read('out.csv')).toMatch(/^id,note,name\n(?:(\d),it's \1,n\1\n){7}$/);
});

test('the suggested retry command includes the format if the errors file has no extension', async () => {
  const { automate, place, state } = await people('rows.txt');
  const { stderr } = await automate([...start, '--in', 'rows.txt', '--in-format', 'csv', '--errors', 'failed', '--rate', '100/s']);
  expect(offered(stderr)).toEqual([
    "automate run 'my flow.yaml' --concurrency 1 --rate 100/s --in failed --in-format csv --out - --errors failed.retry",
  ]);
  state.isWell = true;
  expect((await typed(place, offered(stderr)[0] as string)).stdout).toBe("id,note,name\n3,it's 3,n3\n7,it's 7,n7\n");
});

test('the summary of a run that stopped early prints a command that resumes it', async () => {
  const { automate, place, state, read } = await people('rows.csv');
  const { code, stderr } = await automate([...start, '--in', 'rows.csv', '--out', 'out.csv', '--max-credits', '5', '--force']);
  expect(code).toBe(5);
  const [goOn = ''] = offered(stderr);
  expect(goOn).toBe("automate run 'my flow.yaml' --concurrency 1 --delimiter ';' --in rows.csv --out out.csv --max-credits 5 --resume");
  state.isWell = true;
  await typed(place, goOn);
  expect((await read('out.csv')).match(/^\d/gm)).toEqual(['1', '2', '4', '5', '6', '7', '8']);
});

test('a run to stdout suggests a command that skips the finished records', async () => {
  const { automate, place, state } = await people('rows.csv');
  const { code, stdout, stderr } = await automate([...start, '--in', 'rows.csv', '--skip', '1', '--limit', '6', '--max-credits', '4']);
  expect(code).toBe(5);
  expect(stdout.match(/^\d/gm)).toEqual(['2', '4', '5']);
  const [goOn = ''] = offered(stderr);
  expect(goOn).toBe(
    "automate run 'my flow.yaml' --concurrency 1 --delimiter ';' --in rows.csv --max-credits 4 --skip 5 --limit 2 --errors 'my flow.errors.rest.csv'",
  );
  state.isWell = true;
  expect((await typed(place, goOn)).stdout.match(/^\d/gm)).toEqual(['6', '7']);
});

test.each([
  ['none', '1'],
  ['none', '4'],
  ['mine.csv', '1'],
])('a run to stdout with --errors %s and --max-credits %s suggests a command with the same --errors', async (errors, credits) => {
  const { automate, place, state } = await people('rows.csv');
  const { stderr } = await automate([...start, '--in', 'rows.csv', '--errors', errors, '--max-credits', credits]);
  const [goOn = '', ...others] = offered(stderr);
  expect(goOn).toBe(
    `automate run 'my flow.yaml' --concurrency 1 --delimiter ';' --in rows.csv --errors ${errors} --max-credits ${credits} --skip ${credits}`,
  );
  expect(others).toEqual([]);
  state.isWell = true;
  const { stdout } = await typed(place, goOn.replace('--max-credits', '--limit'));
  expect(stdout.match(/^\d/gm)?.[0]).toBe(String(Number(credits) + 1));
});

test('a run with a secret in --set suggests a run over the errors file, because it leaves no list of failed records for a retry', async () => {
  const { automate, place, write, read, state } = await people('rows.csv');
  const flow = await read('my flow.yaml');
  await write('my flow.yaml', flow.replace('map:', 'auth: { type: bearer, credential: crm }, map:'));
  const env = { AUTOMATE_CREDENTIAL_CRM: 'canary-7f3a' };
  const args = [...start, '--in', 'rows.csv', '--out', 'out.csv', '--set', 'key=canary-7f3a', '--resume'];
  const { stderr } = await automate(args, { env });
  const suggested =
    "automate run 'my flow.yaml' --concurrency 1 --set key=*** --in out.errors.csv --out out.retry.csv --errors out.errors.retry.csv";
  expect(offered(stderr)).toEqual([suggested]);
  expect(stderr).toContain('\n  retry failed records (write the secret instead of ***):\n');
  const command = suggested.replace('***', 'canary-7f3a');
  expect(offered((await automate(args, { env })).stderr)[0]).toBe(command);
  state.isWell = true;
  await shell(place, `AUTOMATE_CREDENTIAL_CRM=canary-7f3a ${command}`);
  expect(await read('out.retry.csv')).toBe("id,note,key,name\n3,it's 3,***,n3\n7,it's 7,***,n7\n");
});

test('a run to stdout that stops at the end of its --limit suggests no further command', async () => {
  const { automate } = await people('rows.csv');
  const { code, stderr } = await automate([...start, '--in', 'rows.csv', '--limit', '3', '--max-errors', '0']);
  expect([code, offered(stderr)]).toEqual([
    5,
    ["automate run 'my flow.yaml' --concurrency 1 --max-errors 0 --in 'my flow.errors.csv' --out - --errors 'my flow.errors.retry.csv'"],
  ]);
});

test('a run to a named pipe suggests a command that skips the finished records', async () => {
  const { place, state, read } = await people('rows.csv');
  const into = (file: string, command: string) => shell(place, `[ -p pipe ] || mkfifo pipe; cat pipe > ${file} & ${command}; wait`);
  const { stderr } = await into(
    'first.csv',
    "automate run 'my flow.yaml' --concurrency 1 --delimiter ';' --in rows.csv --out pipe --max-credits 4",
  );
  const [goOn = '', ...others] = offered(stderr);
  expect(goOn).toBe(
    "automate run 'my flow.yaml' --concurrency 1 --delimiter ';' --in rows.csv --out pipe --max-credits 4 --skip 4 --errors 'my flow.errors.rest.csv'",
  );
  expect(others).toEqual([
    "automate run 'my flow.yaml' --concurrency 1 --max-credits 4 --in 'my flow.errors.csv' --out pipe --errors 'my flow.errors.retry.csv'",
  ]);
  state.isWell = true;
  await into('rest.csv', goOn);
  expect((await read('rest.csv')).match(/^\d/gm)).toEqual(['5', '6', '7', '8']);
});

test.each([
  ['/dev/null', '/dev/null'],
  ['-', 'stdout'],
])('a run with --errors %s suggests no retry, because no file contains the failed records', async (errors, name) => {
  const { automate } = await people('rows.csv');
  const { stderr } = await automate([...start, '--in', 'rows.csv', '--out', '/dev/null', '--errors', errors]);
  expect(stderr).toContain(`\n  errors: ${name} (2 records)\n`);
  expect(offered(stderr)).toEqual([]);
});

test('a run to stdout with --unordered suggests no command for the remaining records', async () => {
  const { automate } = await people('rows.csv');
  const { stderr } = await automate([...start, '--in', 'rows.csv', '--unordered', '--max-credits', '2']);
  expect(offered(stderr)).toEqual([]);
});

test('a run with too few credits for even one record suggests a command with more credits', async () => {
  const { automate, write } = await people('rows.csv');
  const server = await answeringServer(() => ({ body: { name: 'n' } }));
  const node = (id: string) => `{ id: ${id}, type: http, url: "${server.origin}/{{id}}", map: { ${id}: name } }`;
  await write('my flow.yaml', `nodes: [${node('a')}, ${node('b')}]`);
  const args = [...start, '--in', 'rows.csv'];
  const none = await automate([...args, '--out', 'none.csv', '--max-credits', '0']);
  expect(none.stderr).toContain('not even one record could be completed with 0 credits');
  const { code, stderr } = await automate([...args, '--out', 'out.csv', '--max-credits', '1']);
  expect(code).toBe(5);
  expect(stderr).toContain(
    '\n  not even one record could be completed with 1 credit: one record or batch might need more; resume with a higher N:\n',
  );
  expect(offered(stderr)).toEqual([
    "automate run 'my flow.yaml' --concurrency 1 --delimiter ';' --in rows.csv --out out.csv --resume --max-credits N",
  ]);
  const streamed = await automate([...args, '--max-credits', '1']);
  expect(offered(streamed.stderr)).toEqual([
    "automate run 'my flow.yaml' --concurrency 1 --delimiter ';' --in rows.csv --skip 0 --max-credits N",
  ]);
  await automate(['credits', 'limit', '3']);
  const allowed = await automate([...args, '--out', 'allowed.csv']);
  expect(allowed.stderr).toContain('the rest of the allowance was not enough for a single record; once there is more, resume with:');
});

test.each([
  ['csv', 'id;note\n1;a\n2\n', '1 record could not be read; correct it in out.errors.csv and clear its _error_class, then run:'],
  [
    'ndjson',
    '{"id":1}\nno\nno\n',
    '2 records could not be read; correct them in out.errors.ndjson and clear their _error.class, then run:',
  ],
])('the summary says that unreadable records must be corrected before a retry: %s', async (format, input, advice) => {
  const { automate, write, read, place } = await people('old.csv');
  await write(`rows.${format}`, input);
  const args = ['run', 'my flow.yaml', '--in', `rows.${format}`, '--out', `out.${format}`];
  const { code, stderr } = await automate(format === 'csv' ? [...args, '--delimiter', ';'] : args);
  expect(code).toBe(4);
  expect(stderr).toContain(`\n  ${advice}`);
  expect(stderr).not.toContain('retry failed records');
  if (format !== 'csv') return;
  await write('out.errors.csv', (await read('out.errors.csv')).replace('2,,,input,', '2,mended,,,'));
  await typed(place, offered(stderr)[0] as string);
  expect(await read('out.csv')).toBe('id,note,name\n1,a,n1\n2,mended,n2\n');
});

test('the summary lists unreadable records separately from other failed records', async () => {
  const { automate, write } = await people('old.csv');
  await write('rows.csv', 'id;note\n3;a\n2\n');
  const { stderr } = await automate([...start, '--in', 'rows.csv', '--out', 'out.csv']);
  expect(stderr).toContain('\n  retry failed records; first correct those of class input in out.errors.csv and clear their _error_class');
});

test('a run with --quiet prints only counts, the first failure of each kind, and a command to continue', async () => {
  const { automate, read, state } = await people('rows.csv');
  const run = [...start, '--in', 'rows.csv', '--out', 'out.csv', '--quiet'];
  const stopped = await automate([...run, '--max-credits', '3']);
  expect([stopped.code, stopped.stdout]).toEqual([5, '']);
  expect(
    stopped.stderr.replace(/ in .*\/s\)/, ' in TIME'),
  ).toBe(`stopped: a limit is reached: 3 read, 2 written, 1 failed, 3 credits in TIME
  reason: the 3 credits of this run are used up (--max-credits 3)
  http-1  http 404  record 3  the server answered 404
  resume with:
    automate run 'my flow.yaml' --concurrency 1 --delimiter ';' --in rows.csv --out out.csv --quiet --max-credits 3 --resume
`);
  const ended = await automate([...run, '--resume']);
  expect(ended).toMatchObject({ code: 4, stdout: '' });
  expect(ended.stderr).toContain('done: 8 read, 6 written, 2 failed (this part: 5 read, 4 written, 1 failed) in ');
  expect(ended.stderr).toContain('\n  http-1  http 404  record 7  the server answered 404\n  retry failed records');
  expect((await read('out.csv')).match(/^\d/gm)).toHaveLength(6);
  state.isWell = true;
  expect(await automate([...run, '--force'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
});

test('the summary says how many failures are 4xx, which a retry alone will not fix', async () => {
  const { automate } = await people('rows.csv');
  const { stderr } = await automate([...start, '--in', 'rows.csv', '--out', 'out.csv']);
  expect(stderr).toContain('\n  2 of 2 are 4xx: they will fail again unless the flow or the data changes\n');
});

test.each([
  ['5%', 'more than 5 % of the records have failed (--max-errors 5%)'],
  ['0.7%', 'more than 0.7 % of the records have failed (--max-errors 0.7%)'],
  ['1', 'more than 1 record has failed (--max-errors 1)'],
])('the summary says that the run stopped because of --max-errors %s', async (limit, reason) => {
  const { automate, write } = await people('old.csv');
  await write('rows.csv', `id\n${'3\n'.repeat(300)}`);
  const { code, stderr } = await automate(['run', 'my flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--max-errors', limit]);
  expect(code).toBe(5);
  expect(stderr).toContain(`\n  reason: ${reason}\n`);
});

test('durations in events are rounded to thousandths of a millisecond', async () => {
  const { automate, read } = await people('rows.csv');
  await automate([...start, '--in', 'rows.csv', '--out', 'out.csv', '--events', 'events.ndjson']);
  const times = (await read('events.ndjson')).match(/"ms":[\d.]+/g) ?? [];
  expect(times.length).toBeGreaterThan(5);
  for (const time of times) expect(time).toMatch(/^"ms":\d+(?:\.\d{1,3})?$/);
});

test('the summary suggests test-request if no response had a value at a mapped path', async () => {
  const server = await answeringServer(() => ({ body: { data: { name: 'Ada' } } }));
  const place = await workplace({
    'flow.yaml': `nodes: [{ id: ask, type: http, url: "${server.origin}/{{id}}", map: { name: data.name, age: user.age } }]`,
    'rows.txt': 'id;note\n1;a\n2;b\n',
  });
  const { code, stderr } = await place.automate([
    ...'run flow.yaml --in rows.txt --in-format csv --delimiter ;'.split(' '),
    '--out',
    'out.csv',
  ]);
  expect([code, offered(stderr)]).toEqual([
    0,
    ["automate test-request flow.yaml --in rows.txt --in-format csv --delimiter ';' --node ask"],
  ]);
  expect(stderr).toContain('  no answer has user.age; list the paths of an answer with:\n');
  expect((await typed(place, offered(stderr)[0] as string)).stdout).toContain('data.name');
});

test('the suggested test-request uses the first record that got a response', async () => {
  const server = await answeringServer(({ path }) => (path === '/2' ? { status: 404 } : { body: { data: { name: 'Ada' } } }));
  const flow = (when: string) => `nodes: [{ type: http, when: ${when}, url: "${server.origin}/{{id}}", map: { age: user.age } }]`;
  const place = await workplace({ 'flow.yaml': flow('id != "3"'), 'rows.csv': 'id,note\n1\n2,b\n3,c\n4,d\n5,e\n' });
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
  const look = 'automate test-request flow.yaml --in rows.csv --record 4 --node http-1';
  expect([code, offered(stderr).at(-1)]).toEqual([4, look]);
  expect((await typed(place, look)).stdout).toContain('data.name');
});
