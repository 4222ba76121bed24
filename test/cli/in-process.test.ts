import { expect, test } from 'vitest';
import { type Finished, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { canRunInProcess } from '../helpers/in-process.ts';

// Most tests run the tool inside the test process. These tests show that it behaves there as in its own process.

const server = () =>
  httpServer(({ path }, response) => {
    if (path.endsWith('/2')) return json(response, { error: 'gone' }, 410);
    return json(response, { name: 'Ada' });
  });

const place = async () => {
  const { origin } = await server();
  return workplace({
    'flow.yaml': `nodes:\n  - id: ask\n    type: http\n    url: ${origin}/{{id}}\n    map:\n      name: name\n`,
    'wrong.yaml': 'nodes:\n  - id: ask\n    type: htp\n',
    'rows.csv': 'id\n1\n2\n3\n',
  });
};

const timeless = ({ stdout, stderr, code }: Finished): Finished => ({
  code,
  stdout,
  stderr: stderr.replace(/in [\d.]+ m?s \([\d,.]+\/s\)/g, 'in 0 ms').replace(/response times: .*/g, 'response times'),
});

test.each<[code: number, args: string[], stdin?: string]>([
  [4, ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--force']],
  [0, ['run', 'flow.yaml', '--in', '-', '--in-format', 'ndjson'], '{"id":1}\n'],
  [3, ['run', 'wrong.yaml', '--in', 'rows.csv']],
  [0, ['completion', 'bash']],
  [0, ['credits', '--json']],
  [2, ['run', '--no-such-option']],
])('the program prints the same in the test process as in its own: exit code %i, arguments %j', async (code, args, stdin = '') => {
  const { automate, start } = await place();
  expect(canRunInProcess()).toBe(true);
  const inProcess = await automate(args, { stdin });
  const byItself = await start(args, { stdin }).finished;
  expect(timeless(inProcess)).toEqual(timeless(byItself));
  expect(byItself.code).toBe(code);
});

test('a run gets its own process while a different run uses the test process', async () => {
  const { automate } = await place();
  const first = automate(['--version']);
  expect(canRunInProcess()).toBe(false);
  const second = automate(['--version']);
  expect(await first).toEqual(await second);
  expect(canRunInProcess()).toBe(true);
});
