import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { hasTerminal, shell, unlessTerminal } from '../helpers/shell.ts';

const flow = 'nodes:\n  - type: set\n    fields: { b: "{{a}}" }\n';

const csv = 'a\n1\n';
const json = '[{"a":1}]';
const ndjson = '{"a":1}\n';

/** Pipes text into `automate run flow.yaml`. */
async function piped(stdin: string | Buffer, args: readonly string[] = [], text = flow) {
  const place = await workplace({ 'flow.yaml': text });
  return { place, ...(await place.automate(['run', 'flow.yaml', ...args], { stdin })) };
}

describe('the format of stdin', () => {
  test.each([
    ['csv', csv, 'a,b\n1,1\n'],
    ['json', ` \n${json}`, '[\n{"a":1,"b":1}\n]\n'],
    ['ndjson', ndjson, '{"a":1,"b":1}\n'],
    ['ndjson', `\ufeff\n\n${ndjson}`, '{"a":1,"b":1}\n'],
    ['csv.gz', gzipSync(csv), 'a,b\n1,1\n'],
    ['json.gz', gzipSync(json), '[\n{"a":1,"b":1}\n]\n'],
    ['ndjson.gz', gzipSync(ndjson), '{"a":1,"b":1}\n'],
  ])('is detected as %s, and reported on stderr, if the content is %j', async (format, stdin, expected) => {
    for (const args of [[], ['--in', '-']]) {
      const { code, stdout, stderr } = await piped(stdin, args);
      expect([code, stdout]).toEqual([0, expected]);
      expect(stderr).toContain(`reading stdin as ${format} (to read it as a different format, use --in-format)\n`);
    }
  });

  test('is not reported if stdin is empty, and the message shows how to give records', async () => {
    for (const args of [[], ['--in', '-']]) {
      expect(await piped('', args)).toMatchObject({
        code: 6,
        stderr: 'automate: <stdin>: expected records, found nothing\n  give the records with --in FILE, or pipe them in\n',
      });
    }
    expect(await piped('', ['--in-format', 'ndjson'])).toMatchObject({ code: 0, stdout: '' });
  });

  test('is not reported with --quiet', async () => {
    expect(await piped(csv, ['--quiet'])).toMatchObject({ code: 0, stdout: 'a,b\n1,1\n', stderr: '' });
  });

  test('is always JSON if --records specifies the path of a list', async () => {
    const wrapped = `{"n":1,"data":{"items":${json}}}`;
    for (const stdin of [wrapped, gzipSync(wrapped)]) {
      const { code, stdout, stderr } = await piped(stdin, ['--records', 'data.items']);
      expect([code, stdout]).toEqual([0, '[\n{"a":1,"b":1}\n]\n']);
      expect(stderr).toMatch(/reading stdin as json(\.gz)? \(/);
    }
    expect(await piped(csv, ['--records', 'data.items'])).toMatchObject({ code: 2 });
    expect(await piped('{"data":[{"a":1}]}', ['--quiet'], flow.replace('{{a}}', 'x'))).toMatchObject({
      code: 0,
      stdout: '{"data":[{"a":1}],"b":"x"}\n',
    });
  });

  test('is detected even if stdin has a different encoding', async () => {
    const utf16 = Buffer.from(`\ufeff${json}`, 'utf16le');
    expect(await piped(utf16, ['--encoding', 'utf-16le', '--quiet'])).toMatchObject({ code: 0, stdout: '[\n{"a":1,"b":1}\n]\n' });
  });

  test('is taken from --in-format, even if the content is gzipped', async () => {
    const said = await piped('a\tc\n1\t2\n', ['--in-format', 'tsv']);
    expect([said.code, said.stdout]).toEqual([0, 'a\tc\tb\n1\t2\t1\n']);
    expect(said.stderr).not.toContain('reading stdin');
    expect((await piped(gzipSync('a\tc\n1\t2\n'), ['--in-format', 'tsv'])).stdout).toBe('a\tc\tb\n1\t2\t1\n');
  });

  test('is detected even if stdin arrives byte by byte', async () => {
    const place = await workplace({ 'flow.yaml': flow, 'wrong.yaml': 'nodes: 1\n' });
    const { child, finished } = place.start(['run', 'flow.yaml'], { keepStdin: true });
    for (const byte of gzipSync(ndjson)) {
      child.stdin?.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    child.stdin?.end();
    expect(await finished).toMatchObject({ code: 0, stdout: '{"a":1,"b":1}\n' });
    const waiting = place.start(['run', 'wrong.yaml'], { keepStdin: true });
    expect((await waiting.finished).code).toBe(3);
  });

  test('determines whether a reference to an unknown field is a problem of the flow', async () => {
    const { code, stderr } = await piped('c\n1\n');
    expect(code).toBe(3);
    expect(stderr).toContain('flow.yaml:3:19: no record has a field "a" here');
  });

  test('is not detected if stdin is empty, and the run exits with 6', async () => {
    expect(await piped('')).toMatchObject({ code: 6, stdout: '' });
  });

  test('is also detected in validate, test-request and init', async () => {
    const place = await workplace({ 'flow.yaml': flow });
    const { code, stdout, stderr } = await place.automate(['validate', 'flow.yaml', '--in', '-'], { stdin: csv });
    expect([code, stdout]).toEqual([0, 'flow.yaml is valid: 1 node, every referenced field is in -\n']);
    expect(stderr).toContain('reading stdin as csv');
    const init = await place.automate(['init', 'new', '--in', '-'], { stdin: ndjson });
    expect(init.code).toBe(0);
    expect(init.stderr).toContain('validate new/flow.yaml --in rows.ndjson\n');
  });
});

describe('automate run --no-input', () => {
  const noFields = 'nodes:\n  - type: set\n    fields: { b: 1 }\n';

  test('runs the flow once, for a single record without fields', async () => {
    expect(await piped('a\n1\n2\n', ['--no-input', '--quiet'], noFields)).toMatchObject({ code: 0, stdout: '{"b":1}\n', stderr: '' });
    expect((await piped('', ['--no-input', '--out-format', 'csv'], noFields)).stdout).toBe('b\n1\n');
  });

  test('refuses options that describe an input', async () => {
    for (const args of [
      ['--in', 'a.csv'],
      ['--in-format', 'csv'],
      ['--delimiter', ';'],
      ['--encoding', 'latin1'],
    ]) {
      const expected = { code: 2, stdout: '', stderr: `automate: --no-input reads nothing: leave ${args[0]} out\n` };
      expect(await piped('', ['--no-input', ...args], noFields)).toMatchObject(expected);
    }
  });

  test('refuses a reference to a field that --set does not set', async () => {
    const { code, stderr } = await piped('', ['--no-input']);
    expect(code).toBe(3);
    expect(stderr).toContain('flow.yaml:3:19: no record has a field "a" here');
    expect((await piped('', ['--no-input', '--set', 'a=x', '--quiet'])).stdout).toBe('{"a":"x","b":"x"}\n');
  });

  test('plans a single record in a dry run', async () => {
    expect((await piped('', ['--no-input', '--dry-run'], noFields)).stdout).toMatch(/^records: +1\n/);
  });
});

describe('automate run --set', () => {
  test('adds a field to every record, or overrides a field of the input', async () => {
    const { code, stdout } = await piped('a,c\n1,2\n3,4\n', ['--set', 'a=x=y', '--set', 'month=', '--quiet']);
    expect([code, stdout]).toEqual([0, 'a,c,month,b\nx=y,2,,x=y\nx=y,4,,x=y\n']);
  });

  test('adds nothing to the errors file, and is part of the suggested retry command', async () => {
    const failing = 'nodes:\n  - type: set\n    fields: { b: { cel: "int(a)" } }\n';
    const { place, code, stderr } = await piped('c,a\n1,2\n', ['--set', 'a=x', '--set', 'd=e f'], failing);
    expect(code).toBe(4);
    expect(await place.read('flow.errors.csv')).toMatch(/^c,a,_error_node,[^\n]*\n1,2,/);
    expect(stderr).toContain("--set a=x --set 'd=e f'");
  });

  test('adds a field that the flow can refer to', async () => {
    expect((await piped('c\n1\n', ['--set', 'a=2', '--quiet'])).stdout).toBe('c,a,b\n1,2,2\n');
    expect((await piped('c\n1\n', ['--set', 'aa=2'])).stderr).toContain('did you mean "aa"?');
  });

  test('makes --resume refuse a different value', async () => {
    const place = await workplace({
      'flow.yaml': 'nodes: [{ type: http, url: "http://127.0.0.1:9/{{a}}", retry: { max: 0 } }]',
      'in.csv': csv,
    });
    const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--max-errors', '0'];
    expect((await place.automate([...args, '--set', 'a=2'])).code).toBe(5);
    const { code, stderr } = await place.automate([...args, '--set', 'a=3', '--resume']);
    expect([code, stderr]).toEqual([73, expect.stringContaining('the list of set fields has changed')]);
  });

  test('refuses a value that is not NAME=VALUE', async () => {
    for (const value of ['a', '=1', '']) {
      const { code, stderr } = await piped(csv, ['--set', value]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`expected field=value, found "${value}"`)]);
    }
  });
});

test.skipIf(!hasTerminal)(`automate run without --in in a terminal explains which input it expects${unlessTerminal}`, async () => {
  const { place } = await piped(csv);
  const { stdout } = await shell(place, `script -qec 'node "$AUTOMATE" run flow.yaml; echo "code $?"' /dev/null`);
  expect(stdout).toMatch(/expected --in FILE, found none, and stdin is a terminal\r\n.*--no-input\r\ncode 2/);
});
