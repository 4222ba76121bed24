import { execFileSync } from 'node:child_process';
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type CompleteRun, readTruth, TruthLog } from '../../src/output/truth-file.ts';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
const note = 'out.csv.automate';

async function* noMarks() {}

/** Creates a job over three records, which always starts with --resume. The records whose paths are in `failing` fail. */
async function job(...failing: string[]) {
  const refused = new Set(failing);
  const server = await answeringServer(({ path }) => (refused.has(path) ? { status: 404 } : { body: { name: `at ${path}` } }));
  const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", map: [name] }]`;
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\n2\n3\n' });
  const start = (...more: string[]) => place.automate([...run, '--resume', ...more]);
  const sent = () => server.requests.length;
  const hasNote = async () => (await place.files()).includes(note) && (await place.read(note)).includes('"note":');
  const contents = async () => Promise.all((await place.files()).map(async (name) => [name, await readFile(place.path(name), 'utf8')]));
  return { ...place, start, sent, refused, hasNote, contents };
}

describe('--resume of a run that is already complete', () => {
  test('reports that the run is complete, sends nothing, and exits with the same code', async () => {
    const { start, sent, contents } = await job('/2');
    expect((await start()).code).toBe(4);
    const [before, calls] = [await contents(), sent()];
    const again = await start();
    expect(again.code).toBe(4);
    expect(again.stderr).toBe(
      [
        'out.csv is complete already (2 written, 1 failed): nothing was sent',
        '  retry failed records:',
        '    automate retry out.csv',
        '  run all records again:',
        '    automate run flow.yaml --in rows.csv --out out.csv --replace\n',
      ].join('\n'),
    );
    expect([await contents(), sent()]).toEqual([before, calls]);
  });

  test('exits with 0 if no record failed, and says nothing with --quiet', async () => {
    const { start, sent } = await job();
    expect((await start()).code).toBe(0);
    expect(await start()).toMatchObject({ code: 0, stderr: expect.stringContaining('out.csv is complete already (3 written): nothing') });
    expect(await start('--quiet')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(sent()).toBe(3);
  });

  test('needs no credential, because nothing is sent', async () => {
    const { automate, start, sent, write, read } = await job();
    await write('flow.yaml', (await read('flow.yaml')).replace('map:', 'auth: { type: bearer, credential: crm }, map:'));
    const first = await automate([...run, '--resume'], { env: { AUTOMATE_CREDENTIAL_CRM: 's3cret-token-1' } });
    expect(first.code).toBe(0);
    expect([(await start()).code, sent()]).toEqual([0, 3]);
  });

  test('reports a complete run even if it was resumed several times before', async () => {
    const { start, automate, sent, hasNote } = await job();
    expect((await automate([...run, '--max-credits', '1', '--concurrency', '1'])).code).toBe(5);
    expect(await hasNote()).toBe(false);
    expect((await start()).code).toBe(0);
    expect(await start()).toMatchObject({ code: 0, stderr: expect.stringContaining('complete already (3 written)') });
    expect(sent()).toBe(3);
  });

  test.each([[], ['--replace']])('reports that a run with several inputs is complete %j', async (...more) => {
    const { automate, write, sent, hasNote } = await job();
    await write('more.csv', 'id\n4\n');
    const both = ['run', 'flow.yaml', '--in', 'rows.csv', '--in', 'more.csv', '--out', 'out.csv', '--resume', ...more];
    expect([(await automate(both)).code, await hasNote()]).toEqual([0, true]);
    expect(await automate(both)).toMatchObject({ code: 0, stderr: expect.stringContaining('complete already (4 written)') });
    expect(sent()).toBe(4);
  });

  test('exits with 73 if one of several inputs has changed', async () => {
    const { automate, write } = await job();
    await write('more.csv', 'id\n4\n');
    const both = ['run', 'flow.yaml', '--in', 'rows.csv', '--in', 'more.csv', '--out', 'out.csv', '--resume'];
    await automate(both);
    await write('more.csv', 'id\n5\n');
    expect(await automate(both)).toMatchObject({ code: 73, stderr: expect.stringContaining('the content of more.csv has changed') });
  });

  test('reports even a run that a different version of automate completed', async () => {
    const { start, path, sent } = await job();
    await start();
    const truth = await readTruth(path(note));
    const complete = truth?.note as CompleteRun;
    const log = await TruthLog.create(path(note));
    await log.finish({ note: { ...complete, identity: { ...complete.identity, version: '0.0.9' } } }, noMarks());
    expect([(await start()).code, sent()]).toEqual([0, 3]);
  });

  test.each(['out.csv', 'out.csv.gz', 'out.json', 'out.ndjson'])('leaves every byte of %s unchanged', async (out) => {
    const { automate, path, sent } = await job('/2');
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', out, '--resume'];
    await automate(args);
    const before = await readFile(path(out));
    expect((await automate(args)).code).toBe(4);
    expect([await readFile(path(out)), sent()]).toEqual([before, 3]);
  });
});

describe('--resume of a complete run', () => {
  test.each([
    ['input', 'rows.csv', 'the size of the input was 9 bytes, is 11 bytes', 'run it again with --replace in addition to --resume'],
    ['flow', 'flow.yaml', 'the flow has changed', 'run it again with --replace in addition to --resume'],
    ['output', 'out.csv', 'it has been changed since', 'restore its content, or start over with --force'],
    ['errors file', 'out.errors.csv', 'out.errors.csv has', 'restore its content, or start over with --force'],
  ])('exits with 73 if the %s has changed since the run', async (_, name, message, advice) => {
    const { start, sent, path } = await job('/2');
    await start();
    await appendFile(path(name), name === 'rows.csv' ? '4\n' : '\n');
    const { code, stderr } = await start();
    expect([code, stderr]).toEqual([73, expect.stringContaining(message)]);
    expect(stderr).toContain(advice);
    expect(sent()).toBe(3);
  });

  test('exits with 73 if an option that affects the output has changed', async () => {
    const { start, sent } = await job();
    await start();
    expect(await start('--limit', '2')).toMatchObject({ code: 73, stderr: expect.stringContaining('limit was not set, is 2') });
    expect(sent()).toBe(3);
  });

  test('starts over with --replace only if the input has changed', async () => {
    const { start, sent, path, read } = await job();
    expect((await start('--replace')).code).toBe(0);
    expect(await start('--replace')).toMatchObject({ code: 0, stderr: expect.stringContaining('complete already') });
    expect(sent()).toBe(3);
    await appendFile(path('rows.csv'), '4\n');
    expect((await start('--replace')).code).toBe(0);
    expect([sent(), await read('out.csv')]).toEqual([7, expect.stringContaining('4,at /4\n')]);
    expect((await start('--replace')).code).toBe(0);
    expect(sent()).toBe(7);
  });
});

describe('the completion note, a file that marks a run as complete', () => {
  test('is written only with --resume, and never if the input is stdin', async () => {
    const { automate, hasNote } = await job();
    await automate(run);
    expect(await hasNote()).toBe(false);
    const piped = run.map((word) => (word === 'rows.csv' ? '-' : word));
    await automate([...piped, '--force']);
    await automate(['run', 'flow.yaml', '--in', '-', '--out', 'piped.csv', '--resume'], { stdin: 'id\n1\n' });
    expect(await automate(['run', 'flow.yaml', '--in', '-', '--out', 'piped.csv', '--resume'], { stdin: 'id\n5\n' })).toMatchObject({
      code: 73,
      stderr: expect.stringMatching(/there is nothing to resume\n {2}to keep it until a new run is complete: --replace /),
    });
  });

  test('is not written if one of several inputs is a pipe', async () => {
    const { automate, path, hasNote } = await job();
    execFileSync('sh', ['-c', `mkfifo '${path('pipe')}'`]);
    const started = automate([
      'run',
      'flow.yaml',
      '--in',
      'rows.csv',
      '--in',
      'pipe',
      '--in-format',
      'csv',
      '--out',
      'out.csv',
      '--resume',
    ]);
    await writeFile(path('pipe'), 'id\n4\n');
    expect([(await started).code, await hasNote()]).toEqual([0, false]);
  });

  test('is written for a run without input', async () => {
    const { automate, write, sent, read } = await job();
    await write('once.yaml', (await read('flow.yaml')).replace('{{id}}', 'once'));
    const once = ['run', 'once.yaml', '--no-input', '--out', 'out.ndjson', '--resume'];
    expect([(await automate(once)).code, (await automate(once)).code, sent()]).toEqual([0, 0, 1]);
  });

  test.each(['--replace', '--force'])('is deleted when the run is repeated with %s', async (option) => {
    const { start, automate, sent, hasNote } = await job();
    await start();
    expect(await hasNote()).toBe(true);
    expect((await automate([...run, option])).code).toBe(0);
    expect([await hasNote(), sent()]).toEqual([false, 6]);
  });

  test('is ignored if the output has been moved away, so the next run starts over', async () => {
    const { start, sent, path } = await job();
    await start();
    await rm(path('out.csv'));
    expect([(await start()).code, sent()]).toEqual([0, 6]);
  });

  test('is ignored if its content is damaged', async () => {
    const { start, sent, write, read } = await job();
    await start();
    await write(note, (await read(note)).replace('written', 'Written'));
    expect(await start()).toMatchObject({ code: 73, stderr: expect.stringContaining('there is nothing to resume') });
    expect(sent()).toBe(3);
  });

  test('cannot be used as the output or the events file of its own run', async () => {
    const { start } = await job();
    expect(await start('--events', note)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the file about the output'),
    });
  });
});

describe('automate retry after a complete run', () => {
  test('updates the completion note, so the next --resume exits with the new code', async () => {
    const { start, automate, sent, refused, read } = await job('/2', '/3');
    expect((await start()).code).toBe(4);
    refused.delete('/2');
    expect((await automate(['retry', 'out.csv'])).code).toBe(4);
    expect(await start()).toMatchObject({ code: 4, stderr: expect.stringContaining('(2 written, 1 failed)') });
    refused.clear();
    expect((await automate(['retry', 'out.csv'])).code).toBe(0);
    const calls = sent();
    expect(await start()).toMatchObject({ code: 0, stderr: expect.stringContaining('(3 written): nothing was sent') });
    expect(sent()).toBe(calls);
    expect(await read('out.csv')).toBe('id,name\n1,at /1\n2,at /2\n3,at /3\n');
  });

  test('writes no completion note if the run did not write one', async () => {
    const { automate, hasNote } = await job('/2');
    await automate(run);
    await automate(['retry', 'out.csv']);
    expect(await hasNote()).toBe(false);
  });

  test('makes --resume fail while the retry is unfinished', async () => {
    const { start, automate } = await job('/2', '/3');
    await start();
    expect((await automate(['retry', 'out.csv', '--max-errors', '0', '--concurrency', '1'])).code).toBe(5);
    expect(await start()).toMatchObject({ code: 73, stderr: expect.stringContaining('automate retry out.csv --resume') });
  });
});
