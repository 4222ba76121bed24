import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';

const flow = 'nodes: [{ type: set, fields: { b: "{{id}}" } }]\n';
const named = 'the header has no name for 2 columns: they are called column_2, column_4';

describe('--header-line and --no-header', () => {
  test.each([[[]], [['--workers', '2']]])('choose the header, and the run says which names it has given: %j', async (more) => {
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'Report "Q3\n\nid,,name,,x,\n1,2,Ada,4,5,\n2,2,Bob,4,5,6\n' });
    const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--header-line', '3', '--out', 'out.csv', '--summary', 'sum.json', ...more];
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(4);
    expect(stderr.split(`warning: ${named}\n`)).toHaveLength(3);
    expect(JSON.parse(await place.read('sum.json'))).toMatchObject({ named_columns: ['column_2', 'column_4'] });
    expect(await place.read('out.csv')).toBe('id,column_2,name,column_4,x,b\n1,2,Ada,4,5,1\n');
    const errors = await place.read('out.errors.csv');
    expect(errors).toContain('id,column_2,name,column_4,x,_error_node');
    expect(errors).toContain('line 5: expected 5 cells, found 6');
    // The errors file has its header in the first line.
    await place.write('out.errors.csv', errors.replace(',input,', ',,'));
    expect((await place.automate(['retry', 'out.csv'])).code).toBe(0);
    expect(await place.read('out.csv')).toContain('2,2,Bob,4,5,2\n');
  });

  test('name columns by position, also in several files that are read as one', async () => {
    const place = await workplace({ 'flow.yaml': flow.replace('id', 'column_1'), '1.csv': '1,a\n2,b\n', '2.csv': '3,c\n', '3.csv': '4\n' });
    const run = ['run', 'flow.yaml', '--no-header', '--in', '1.csv', '--in'];
    const { code, stdout, stderr } = await place.automate([...run, '2.csv']);
    expect([code, stdout]).toEqual([0, 'column_1,column_2,b\n1,a,1\n2,b,2\n3,c,3\n']);
    expect(stderr).not.toContain('called');
    expect(await place.automate([...run, '3.csv'])).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('found no column "column_2"'),
    });
    expect(await place.automate(['run', 'flow.yaml', '--no-input', '--no-header'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--no-input reads nothing: leave --no-header out'),
    });
  });

  test('are part of the commands that init prints, and of the identity of a run', async () => {
    const place = await workplace({ 'rows.csv': 'Report\nid,name\n1,Ada\n', 'flow.yaml': flow });
    const { stderr } = await place.automate(['init', 'new', '--in', 'rows.csv', '--header-line', '2']);
    expect(stderr).toContain('automate validate new/flow.yaml --in rows.csv --header-line 2\n');
    expect(await place.read('new/flow.yaml')).toContain('{{id}}');
    const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--resume'];
    expect((await place.automate([...run, '--header-line', '2'])).code).toBe(0);
    expect((await place.automate(run)).code).not.toBe(0);
  });

  test('are shown by --dry-run, and with --quiet only the rows are', async () => {
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'id,,x,,y\n1,2,3,4,5\n' });
    const run = ['run', 'flow.yaml', '--in', 'rows.csv'];
    expect((await place.automate([...run, '--dry-run'])).stderr).toContain(named);
    expect((await place.automate([...run, '--quiet'])).stderr).toBe('');
  });
});
