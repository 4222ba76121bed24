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

const readsDates = `nodes:
  - type: set
    fields:
      day: { cel: 'date.format(date.parse(day, vars.form), "yyyy-MM-dd")' }
      amount: { cel: 'number.parse(amount, "1.234,56")' }
      key: { cel: hash.md5(text.fold(name)) }
`;

test('dates, numbers, names and hashes in a condition and in fields', async () => {
  const here = await workplace({
    'flow.yaml': `vars: { form: dd.MM.yyyy }\n${readsDates}      body: { cel: 'json.text({"price": price})' }\n    when: date.parse(day, "dd.MM.yyyy") > date.parse("2026", "yyyy")\n`,
    'in.json':
      '[{"day": "24.11.2026", "amount": "1.234,5", "name": "STRAẞE", "price": 1.50}, {"day": "31.02.2026", "amount": "1", "name": "x"}]',
  });
  const { code, stderr } = await here.automate(['run', 'flow.yaml', '--in', 'in.json', '--out', 'out.ndjson']);
  expect({ code, stderr }).toEqual({
    code: 4,
    stderr: expect.stringContaining('date.parse: "31.02.2026" is no date of the form dd.MM.yyyy'),
  });
  expect(await here.read('out.ndjson')).toBe(
    '{"day":"2026-11-24","amount":1234.5,"name":"STRAẞE","price":1.50,"key":"f68418110b56950369e54315d3634493","body":"{\\"price\\":1.50}"}\n',
  );
});

test('a variable that is no pattern is a problem of the flow', async () => {
  const here = await workplace({ 'flow.yaml': `vars: { form: DD.MM.YYYY }\n${readsDates}`, 'in.csv': 'day,amount,name\n1,1,a\n' });
  const { code, stderr } = await here.automate(['validate', 'flow.yaml', '--in', 'in.csv']);
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('flow.yaml:5:48: expected a pattern such as dd.MM.yyyy') });
});
