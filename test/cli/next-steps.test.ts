import { expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';
import { shell } from '../helpers/shell.ts';

/** The command lines that a summary offers to copy. */
function offered(stderr: string): string[] {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('    automate '))
    .map((line) => line.trim());
}

/** Eight records, of which the third and the seventh fail until the server is well. */
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

test('what failed is tried again by the command that the summary offers', async () => {
  const { automate, place, state, read } = await people('rows.csv');
  const { code, stderr } = await automate([...start, '--in', 'rows.csv', '--out', 'out.csv', '--limit=7', '--summary', 's.json']);
  expect(code).toBe(4);
  expect(offered(stderr)).toEqual(["automate run 'my flow.yaml' --concurrency 1 --in rows.errors.csv --out out.retry.csv"]);
  expect(JSON.parse(await read('s.json')).next).toEqual(offered(stderr));
  state.isWell = true;
  await shell(place, offered(stderr)[0] as string);
  expect(await read('out.retry.csv')).toBe("id,note,name\n3,it's 3,n3\n7,it's 7,n7\n");
});

test('also from an errors file whose name says nothing', async () => {
  const { automate, place, state } = await people('rows.txt');
  const { stderr } = await automate([...start, '--in', 'rows.txt', '--in-format', 'csv', '--errors', 'failed', '--rate', '100/s']);
  expect(offered(stderr)).toEqual([
    "automate run 'my flow.yaml' --concurrency 1 --rate 100/s --in failed --in-format csv --out - --errors failed.retry",
  ]);
  state.isWell = true;
  expect((await shell(place, offered(stderr)[0] as string)).stdout).toBe("id,note,name\n3,it's 3,n3\n7,it's 7,n7\n");
});

test('what was not reached is done by the command that the summary offers, into a file', async () => {
  const { automate, place, state, read } = await people('rows.csv');
  const { code, stderr } = await automate([...start, '--in', 'rows.csv', '--out', 'out.csv', '--max-credits', '5', '--force']);
  expect(code).toBe(5);
  const [goOn = ''] = offered(stderr);
  expect(goOn).toBe("automate run 'my flow.yaml' --concurrency 1 --delimiter ';' --in rows.csv --out out.csv --max-credits 5 --resume");
  state.isWell = true;
  await shell(place, goOn);
  expect((await read('out.csv')).match(/^\d/gm)).toEqual(['1', '2', '4', '5', '6', '7', '8']);
});

test('and into a stream', async () => {
  const { automate, place, state } = await people('rows.csv');
  const { code, stdout, stderr } = await automate([...start, '--in', 'rows.csv', '--skip', '1', '--limit', '6', '--max-credits', '4']);
  expect(code).toBe(5);
  expect(stdout.match(/^\d/gm)).toEqual(['2', '4', '5']);
  const [goOn = ''] = offered(stderr);
  expect(goOn).toBe(
    "automate run 'my flow.yaml' --concurrency 1 --delimiter ';' --in rows.csv --max-credits 4 --skip 5 --limit 2 --errors rows.errors.rest.csv",
  );
  state.isWell = true;
  expect((await shell(place, goOn)).stdout.match(/^\d/gm)).toEqual(['6', '7']);
});

test('in a stream without order nobody can tell where to go on', async () => {
  const { automate } = await people('rows.csv');
  const { stderr } = await automate([...start, '--in', 'rows.csv', '--unordered', '--max-credits', '2']);
  expect(offered(stderr)).toEqual([]);
});
