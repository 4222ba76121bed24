import { expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';

test('an expression can use the current time and RE2 regular expressions', async () => {
  const here = await workplace({
    'flow.yaml': `nodes:
  - type: set
    fields:
      time: { cel: int(now()) }
      digits: { cel: 'regex.extract(id, "[0-9]+")' }
`,
    'in.csv': 'id\nA-17\n',
  });
  const before = Math.floor(Date.now() / 1000);
  const { code } = await here.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.ndjson']);
  const row = JSON.parse(await here.read('out.ndjson'));
  expect({ code, digits: row.digits }).toEqual({ code: 0, digits: '17' });
  expect(row.time).toBeGreaterThanOrEqual(before);
  expect(row.time).toBeLessThanOrEqual(Date.now() / 1000);
});
