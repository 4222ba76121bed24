import { expect, test } from 'vitest';
import { askedServer, csvOf } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';

/** A run over three records whose answers are to be kept. `{file}` in the environment stands for a file: nobody can make a folder in it. */
async function runWith(environment: Record<string, string>, ...more: string[]) {
  const server = await askedServer();
  const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", cache: 1h, concurrency: 1, map: { name: name } }]\n`;
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(3), file: '' });
  const env = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value.replace('{file}', place.path('file'))]));
  const finished = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', ...more], { env });
  const warnings = finished.stderr.split('\n').filter((line) => line.includes('not kept'));
  return { code: finished.code, warnings, output: await place.read('out.csv'), calls: [...server.calls.values()] };
}

const output = 'id,note,name\n1,"note, 1",name 1\n2,"note, 2",name 2\n3,"note, 3",name 3\n';

test.each([{ AUTOMATE_HOME: '{file}' }, { AUTOMATE_HOME: '', HOME: '{file}', XDG_CONFIG_HOME: '{file}' }])(
  'an answer that cannot be kept is used all the same, and one line says why: %o',
  async (env) => {
    const warning =
      /^warning: answers are not kept: the cache folder \S+file\S*cache cannot be written: E[^']+ \(AUTOMATE_HOME moves it\)$/;
    expect(await runWith(env)).toEqual({ code: 0, warnings: [expect.stringMatching(warning)], output, calls: [1, 1, 1] });
  },
);

test('--quiet says nothing of it', async () => {
  expect(await runWith({ AUTOMATE_HOME: '{file}' }, '--quiet')).toEqual({ code: 0, warnings: [], output, calls: [1, 1, 1] });
});
