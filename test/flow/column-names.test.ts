import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor } from '../helpers/flow-problems.ts';
import { runFlow } from '../helpers/run-flow.ts';

const flow = (columns: string, node = '{ type: set, fields: { hi: "{{first_name}}" } }') => `columns: ${columns}\nnodes:\n  - ${node}\n`;
const named = '{ first_name: First Name, zip: "Post Code (billing)" }';
const header = ['id', 'First Name', 'Post Code (billing)'];

describe('names in columns that are problems, with their positions', () => {
  test.each([
    ['two names for one column', '{ a: First Name, b: First Name }', '1:30 the column "First Name" has the name "a" already'],
    [
      'a name that is itself a column',
      '{ id: First Name, first_name: "Post Code (billing)" }',
      '1:12 "id" is itself a column of the input',
    ],
    ['a missing column', '{ first_name: Frist Name }', '1:24 the input has no column "Frist Name"; did you mean "First Name"?'],
    ['a missing column like no other', '{ first_name: xyz }', '1:24 the input has no column "xyz"; available: id, First Name'],
    ['a name that templates cannot contain', '{ "first name": First Name }', '1:12 expected a name that templates can contain'],
    ['a name that is the column', '{ id: id }', '1:12 "id" is the column\'s own name'],
    ['a name of another named column', '{ a: b, b: First Name }', '1:12 "b" is a name that the flow gives to another column'],
    ['a name of errors files', '{ _error_x: First Name }', '1:12 names that begin with _error belong to errors files'],
    ['a number', '{ a: 2024 }', '1:15 expected the name of a column, such as First Name'],
  ])('%s', (_what, columns, problem) => {
    const found = flowProblems(flow(columns, '{ type: set, fields: { x: y } }'), { header }).map(onOneLine);
    expect(found).toEqual([expect.stringContaining(problem)]);
  });

  test('a node that would write the column a second time', () => {
    const node = '{ type: set, fields: { "First Name": x } }';
    expect(flowProblems(flow(named, node)).map(onOneLine)[0]).toContain(
      'a node adds a field "First Name", so the output would have this column twice',
    );
  });

  test.each(['{{First Name}}', '{{ First Name }}'])('%s, which the flow calls something else', (braces) => {
    const [problem] = flowProblems(flow(named, `{ type: set, fields: { a: "${braces}" } }`));
    expect(problem?.message).toContain('the flow calls this column "first_name": write {{first_name}}');
  });

  test('the own name of a column in an expression', () => {
    const [problem] = flowProblems(flow('{ town: city }', `{ type: set, when: city != "" }`));
    expect(problem?.message).toBe('no record has a field "city" here: the flow calls this column "town"\nwrite town');
  });
});

test('a name may stand wherever the name of a field may stand', () => {
  const nodes = `serial_by: [zip]
nodes:
  - { type: set, rename: { zip: plz }, keep: [first_name, plz] }
  - { type: http, when: first_name != "", url: "https://a.com/{{first_name}}", map: { first_name: { path: a, replace: true } } }
`;
  expect(flowProblems(`columns: ${named}\n${nodes}`, { header })).toEqual([]);
  const plan = planFor(`columns: ${named}\n${nodes}`);
  expect(plan.names.allInFile(plan.columns(header))).toEqual(['First Name', 'plz']);
});

describe('record["First Name"]', () => {
  const record = { 'First Name': 'Ann', n: '1' };
  const value = async (cel: string, columns = '', fields: object = record) => {
    const yaml = `${columns}nodes:\n  - { type: set, fields: { out: { cel: '${cel}' } } }\n`;
    const { rows, failures } = await runFlow(yaml, [fields as typeof record]);
    return rows[0]?.out ?? failures[0]?.message;
  };

  test.each([
    ['record["First Name"]', 'Ann'],
    ['record.n + record["First Name"]', '1Ann'],
    ['"First Name" in record', true],
    ['"Last Name" in record', false],
    ['record["First " + "Name"]', 'Ann'],
    ['has(record.n) && !has(record.m)', true],
    ['[1].map(x, record["First Name"])', ['Ann']],
  ])('%s gives %j', async (cel, expected) => {
    expect(await value(cel)).toEqual(expected);
  });

  test('is the field record of a record that has one', async () => {
    expect(await value('record.status', '', { record: { status: 'old' } })).toBe('old');
    expect(await value('record', '', { record: 'mine' })).toBe('mine');
    const [problem] = flowProblems('nodes:\n  - { type: set, fields: { a: { cel: record.status } } }', { header: ['record'] });
    expect(problem).toBeUndefined();
  });

  test('reaches a field by its name in the flow and by its column', async () => {
    const columns = 'columns: { first_name: First Name }\n';
    for (const cel of ['record["First Name"]', 'record["first_name"]', 'record.first_name', 'first_name'])
      expect(await value(cel, columns, { first_name: 'Ann' })).toBe('Ann');
  });

  test('is a problem if no record has the field, at its position', () => {
    const yaml = `nodes:\n  - { type: set, fields: { a: { cel: 'record["Frist Name"]' } } }`;
    expect(flowProblems(yaml, { header }).map(onOneLine)).toEqual([
      '2:47 no record has a field "Frist Name" here; did you mean "First Name"?',
    ]);
  });
});
