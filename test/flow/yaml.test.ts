import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor } from '../helpers/flow-problems.ts';

describe('a flow that is not valid YAML', () => {
  test.each([
    ['a repeated key', 'nodes: []\nname: a\nname: b', '3:1 expected each key once, found this one twice'],
    [
      'a repeated key in a nested mapping',
      'nodes: [{ type: http, url: a, headers: { X: 1, X: 2 } }]',
      '1:48 expected each key once, found this one twice',
    ],
    ['a custom tag', 'nodes: !foo [x]', '1:8 expected plain YAML, found a custom tag'],
    ['a merge key', 'nodes:\n  - &a { type: set }\n  - <<: *a\n    id: b\n', '3:5 YAML 1.2 has no merge keys'],
    ['several merge keys', 'a: &a {}\nb: &b {}\nnodes: [{ <<: [*a, *b] }]', '3:11 YAML 1.2 has no merge keys'],
    ['a tag that creates code', 'nodes:\n  - !!js/function "x"', '2:5 expected plain YAML, found a custom tag'],
    ['a tag from a different schema', 'nodes: !!set {a}', '1:8 expected plain YAML, found a custom tag'],
    ['a tag that does not fit the value', 'nodes: !!int abc', '1:8 expected plain YAML, found a tag that does not fit its value'],
    ['a second document', 'nodes: []\n---\nnodes: []', '2:1 expected one YAML document, found a second one'],
    ['a tab as indentation', 'nodes:\n\t- type: http', '2:1 not valid YAML: tabs are not allowed as indentation; expected spaces'],
    [
      'a no-break space as indentation',
      'nodes:\n\u00a0\u00a0- type: http\n    url: a',
      '2:1 not valid YAML: expected spaces as indentation, found a no-break space (U+00A0)',
    ],
    [
      'a no-break space behind the indentation',
      'name: |\n  a\n \u00a0\nnodes:\n  - type: http\n   \u00a0url: a',
      '3:2 not valid YAML: expected spaces as indentation, found a no-break space (U+00A0)',
    ],
    [
      'a no-break space after a key',
      'nodes:\n  - type:\u00a0http\n    url: a',
      '2:10 not valid YAML: expected a space after a colon, found a no-break space (U+00A0)',
    ],
    [
      'a narrow no-break space after a dash',
      'nodes:\n  -\u202ftype: http\n    url: a',
      '2:4 not valid YAML: expected a space after a dash, found a no-break space (U+202F)',
    ],
    [
      'an ideographic space as indentation',
      'nodes:\n  - type: http\n \u3000 url: a',
      '3:2 not valid YAML: expected spaces as indentation, found a special space (U+3000)',
    ],
    ['a list as a key', '? [a]\n: b', '1:3 expected a string as the key, found a list or a mapping'],
    ['a quote that is never closed', 'name: x\nnodes: "abc\n\n', '2:8 not valid YAML: this quote is never closed'],
    [
      'a bracket that is never closed',
      'name: x\nnodes: [a, b\n',
      '2:8 not valid YAML: opened here and never closed with ]; or what is inside is not indented enough',
    ],
    ['a value that needs quotes', 'name: a: b', '1:7 not valid YAML: a value that contains ": " needs quotes'],
    ['a character that needs quotes', 'name: @a', '1:7 not valid YAML: plain value cannot start with reserved character @'],
    ['an unknown escape', 'name: "\\q"', '1:8 not valid YAML: no such escape sequence; in double quotes a backslash is written \\\\'],
    [
      'wrong indentation',
      'nodes:\n  - type: http\n     url: x',
      '2:11 not valid YAML: the indentation does not fit; items of one list or mapping start at the same column',
    ],
    ['an alias without an anchor', 'nodes: [*nope]', '1:9 not valid YAML: there is no anchor with this name before the alias'],
    [
      'a key without a space after its colon',
      'nodes:\n  - type:http\n    url: x',
      '2:5 not valid YAML: expected a key, a colon and a space before the value, on one line',
    ],
    [
      'a dash without a space',
      'nodes:\n  -type: http\n   url: x',
      '2:10 not valid YAML: a dash at the start of a line needs a space after it',
    ],
    ['an alias within its own anchor', 'nodes: &a [{ x: *a }]', '1:17 not valid YAML: the alias is inside its own anchor'],
  ])('is reported with its position: %s', (_what, yaml, problem) => {
    expect(flowProblems(yaml).map(onOneLine)).toContain(problem);
  });

  test.each(['!!binary aGk=', '!!set { a }', '!!omap [ a: 1 ]', '!!pairs [ a: 1 ]', '!!timestamp 2026-01-01'])(
    'is refused with a single problem if it has a tag for other data: %s',
    (value) => {
      expect(flowProblems(`nodes: [{ type: set, fields: { a: ${value} } }]`).map(onOneLine)).toEqual([
        '1:35 expected plain YAML, found a custom tag',
      ]);
    },
  );

  test('is told that text needs quotes if it begins with the mark of an alias', () => {
    const [problem] = flowProblems('nodes: [{ type: http, url: "https://a.com", headers: { Accept: */* } }]');
    expect(problem).toMatchObject({ message: expect.stringContaining('\ntext that begins with * needs quotes') });
  });

  test('is refused quickly if it is an alias bomb', () => {
    const levels = Array.from(
      { length: 10 },
      (_, level) => `l${level}: &l${level} [${Array(10).fill(level === 0 ? 'x' : `*l${level - 1}`)}]`,
    );
    expect(flowProblems(`${levels.join('\n')}\nnodes: [*l9]`).map(onOneLine)).toEqual([
      '2:10 expected plain YAML, found aliases that expand to more than a flow can contain',
    ]);
  });

  test.each([
    ['brackets', `nodes: ${'['.repeat(100_000)}`, '1:208'],
    ['braces', `nodes: ${'{a: '.repeat(5000)}`, '1:808'],
    ['dashes', `nodes:\n${'- '.repeat(5000)}x`, '2:1'],
    ['question marks', `nodes:\n${'? '.repeat(5000)}x`, '2:1'],
    ['indentation', Array.from({ length: 1500 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'), '202:202'],
  ])('is refused if it is nested too deeply with %s', (_what, yaml, place) => {
    expect(flowProblems(yaml).map(onOneLine)).toEqual([`${place} expected YAML nested at most 200 deep`]);
  });

  test.each([
    ['a value', 'url: {{url}}'],
    ['in a mapping', 'url: {a: {{url}}}'],
    ['in a list', 'url: [{{url}}, 1]'],
  ])('is refused with advice to quote a reference that is %s', (_what, yaml) => {
    expect(flowProblems(yaml).map(({ message }) => message)).toEqual([
      'expected a string, found {{ without quotes, which begins a mapping in YAML\nput the whole value in quotes, as in "{{field}}"; for a number from a table in a body: { cel: int(field) }',
    ]);
  });

  test.each([
    ['in a list', 'map: [a, results[].id, b[0]]', ['1:10', '1:24']],
    ['first in a list', 'map: [[].id]', ['1:7']],
    ['in a mapping', 'map: { sku: orders[].lines[].sku, b: "x[0]" }', ['1:13']],
    ['as an item', 'map:\n  - [0].name', ['2:5']],
  ])('is refused with advice to quote a path with brackets: %s', (_what, yaml, places) => {
    expect(flowProblems(yaml).map(onOneLine)).toEqual(places.map((place) => `${place} not valid YAML: a path with [ ] needs quotes here`));
  });

  test('is reported only once if the line below a URL is indented too far', () => {
    expect(flowProblems('nodes:\n  - url: https://a.com/x\n      map: [a]').map(onOneLine)).toEqual([
      '2:10 not valid YAML: the indentation does not fit; items of one list or mapping start at the same column',
    ]);
  });

  test('is refused with advice to use quotes if a value begins with !', () => {
    const [problem] = flowProblems('nodes: [{ type: http, url: "https://a.com", when: !has(x) }]');
    expect(problem?.message).toBe('expected plain YAML, found a custom tag\ntext that begins with ! needs quotes');
  });

  test('is reported only at the first unexpected token, not at later ones', () => {
    expect(flowProblems('name: "a" b\nnodes:\n  - type: http\n    url: x\n').map(onOneLine)).toEqual([
      '1:11 not valid YAML: this does not belong here; are quotes, a comma or a line break missing before it?',
    ]);
    expect(flowProblems('a { type: http, x: [1, 2], y }: z\nb: c\nd: e\n').length).toBeLessThanOrEqual(2);
  });

  test('is reported with all its problems at once, in order', () => {
    expect(flowProblems('name: !x a\nname: b\nnodes: [@]\n').map(({ line }) => line)).toEqual([1, 2, 3]);
  });
});

describe('a flow in valid YAML', () => {
  test('can use an anchor many times', () => {
    const nodes = Array.from({ length: 150 }, (_, index) => `  - { type: http, url: https://a.com/${index}, retry: *r }\n`);
    expect(planFor(`nodes:\n  - { type: http, url: https://a.com/x, retry: &r { max: 1 } }\n${nodes.join('')}`).steps).toHaveLength(151);
  });

  test('can be written as JSON', () => {
    expect(planFor(JSON.stringify({ name: 'x', nodes: [{ type: 'set', fields: { a: 1 } }] }, null, '\t')).name).toBe('x');
  });

  test('can contain a few anchors and aliases', () => {
    const plan = planFor(
      'nodes:\n  - { type: http, url: https://a.com/1, retry: &r { max: 1 } }\n  - { type: http, url: https://a.com/2, retry: *r }\n',
    );
    expect(plan.steps).toHaveLength(2);
  });

  test('can contain core types, a byte order mark and a document start', () => {
    expect(planFor('\ufeff---\nname: !!str 5\nnodes: [{ type: set, fields: { a: !!int "5" } }]\n').name).toBe('5');
  });

  test('keeps words that had a special meaning in YAML 1.1 as strings: no, off, 1_000', () => {
    expect(flowProblems('nodes: [{ type: set, fields: { a: no, b: off, c: 1_000, d: 2024-01-01, e: 1:30 } }]')).toEqual([]);
    expect(flowProblems('nodes: [{ type: http, url: "https://a.com", idempotency_key: on }]').map(onOneLine)).toEqual([
      '1:62 expected true, false or text with {{field}}, found "on"',
    ]);
  });
});

describe('a number without quotes that YAML reads with another text', () => {
  const reads = (written: string, number: string) => `YAML reads ${written} as the number ${number}: write "${written}"`;
  const problemsIn = (yaml: string) => flowProblems(yaml).map(onOneLine);

  test.each([
    ['01234', '1234'],
    ['+4915112345678', '4915112345678'],
    ['-012', '-12'],
    ['0x1F', '31'],
    ['0o17', '15'],
    ['.5', '0.5'],
    ['1.', '1'],
  ])('is a problem in set, a form, a variable, a default and a text: %s', (written, number) => {
    const yaml = `vars:
  v: ${written}
  w: { default: "1", prod: ${written} }
nodes:
  - type: set
    fields: { a: "{{vars.v}}", b: "{{vars.w}}", c: ${written} }
  - type: http
    method: POST
    url: https://a.com/
    form: { a: ${written}, b: [1, ${written}] }
    map: { d: { path: d, default: ${written} } }
  - type: http
    method: POST
    url: ${written}
    text: ${written}
`;
    const places = ['2:6', '3:28', '6:52', '10:16', `10:${25 + written.length}`, '11:35', '14:10', '15:11'];
    expect(problemsIn(yaml)).toEqual(places.map((place) => `${place} ${reads(written, number)}`));
  });

  test.each([
    ['0123', '123'],
    ['+49', '49'],
    ['+.5', '0.5'],
    ['-007', '-7'],
  ])('is a problem in a JSON body and in the arguments of a tool: %s', (written, number) => {
    const body = `nodes: [{ type: http, method: POST, url: "https://a.com", body: { a: { b: [${written}] } } }]`;
    expect(problemsIn(body)).toEqual([`1:76 ${reads(written, number)}`]);
    const tool = `connections: { a: { type: mcp, url: https://a.com } }\nnodes: [{ type: mcp, connection: a, tool: t, arguments: { a: ${written} } }]`;
    expect(problemsIn(tool)).toEqual([`2:62 ${reads(written, number)}`]);
  });

  test.each([
    ['.inf', 'Infinity'],
    ['-.INF', '-Infinity'],
    ['.nan', 'NaN'],
  ])('is a problem if JSON has no such number: %s', (written, number) => {
    const yaml = `nodes: [{ type: set, fields: { a: ${written} } }, { type: http, url: "https://a.com", map: { d: { path: d, default: ${written} } } }]`;
    const second = 107 + written.length;
    expect(problemsIn(yaml)).toEqual([`1:35 ${reads(written, number)}`, `1:${second} ${reads(written, number)}`]);
  });

  test.each([
    ['{ type: geocode, address: { street: 1 Main St, city: Dresden, postcode: 01067 } }', '01067', '1067'],
    ['{ type: geocode, provider: census-us, address: { street: 01, city: Dresden } }', '01', '1'],
    ['{ type: geocode, point: { lat: +52.5, lon: 13.4 } }', '+52.5', '52.5'],
    ['{ type: geocode, point: { lat: 52.5, lon: 013.4 } }', '013.4', '13.4'],
    ['{ type: geocode, address: 01067 }', '01067', '1067'],
    ['{ type: places, lookup: points, chain: Q38076, area: { country: 049 } }', '049', '49'],
    ['{ type: geocode, address: "{{id}}", country: 049 }', '049', '49'],
    ['{ type: places, lookup: chain, name: 007 }', '007', '7'],
    ['{ type: places, lookup: points, chain: Q38076, near: { lat: .5, lon: 1, radius: 1km } }', '.5', '0.5'],
    ['{ type: places, lookup: points, chain: Q38076, area: { bbox: [1, 2, 3, +4] } }', '+4', '4'],
    ['{ type: census, year: 2024, geoid: 01001, variables: { a: B19013_001E } }', '01001', '1001'],
    ['{ type: census, year: 2024, zcta: 02139, variables: { a: B19013_001E } }', '02139', '2139'],
    ['{ type: census, provider: world-bank, country: 01, variables: { a: X } }', '01', '1'],
  ])('is a problem in a lookup: %s', (node, written, number) => {
    const column = 10 + node.search(new RegExp(`(?<=[ [])${written.replace(/[+.]/g, '\\$&')}`)) - 1;
    const found = problemsIn(`nodes: [{ type: set }, ${node}]`).filter((problem) => problem.includes('YAML'));
    expect(found).toEqual([`1:${column + 15} ${reads(written, number)}`]);
  });

  test('is only a number in a JSON body if it has neither a leading zero nor a plus', () => {
    const yaml = 'nodes: [{ type: http, method: POST, url: "https://a.com", body: { a: 0x1F, b: .5, c: 0o17, d: 0, e: -0.5, f: 1e3 } }]';
    expect(flowProblems(yaml)).toEqual([]);
  });

  test('is no problem if its text stays, in a header, or in an option of automate', () => {
    const yaml = `nodes:
  - type: http
    url: https://a.com
    headers: { A: 01234, B: +49, C: 0x1F }
    timeout: 0400
    retry: { max: 03 }
  - { type: set, fields: { a: 1.10, b: 1e3, c: 12345678901234567890, d: -0, e: 0.50, f: "012", g: !!str 012, 007: x } }
`;
    expect(flowProblems(yaml)).toEqual([]);
  });

  test('is a problem at its anchor if an alias repeats it as text', () => {
    const yaml =
      'nodes:\n  - { type: http, url: https://a.com, timeout: &t 0400, headers: { T: *t } }\n  - { type: set, fields: { a: *t, b: *t } }\n';
    expect(problemsIn(yaml)).toEqual([`2:51 ${reads('0400', '400')}`]);
  });

  test('is not shown if it is a secret', () => {
    const [problem, ...more] = flowProblems(
      `nodes:\n  - { type: http, method: POST, url: https://a.com, form: { password: 0123456789 } }\n`,
    );
    expect([problem?.message.split('\n')[0], more]).toEqual(['"password" in the body contains a literal secret', []]);
    expect(JSON.stringify(problem)).not.toContain('123456789');
  });
});
