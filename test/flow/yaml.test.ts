import { describe, expect, test } from 'vitest';
import { flowProblems, onOneLine, planFor } from '../helpers/flow-problems.ts';

describe('broken YAML', () => {
  test.each([
    ['a key twice', 'nodes: []\nname: a\nname: b', '3:1 expected each key once, found this one twice'],
    [
      'a key twice, deep inside',
      'nodes: [{ type: http, url: a, headers: { X: 1, X: 2 } }]',
      '1:48 expected each key once, found this one twice',
    ],
    ['a custom tag', 'nodes: !foo [x]', '1:8 expected plain YAML, found a custom tag'],
    ['a merge key', 'nodes:\n  - &a { type: set }\n  - <<: *a\n    id: b\n', '3:5 YAML 1.2 has no merge keys'],
    ['several merged', 'a: &a {}\nb: &b {}\nnodes: [{ <<: [*a, *b] }]', '3:11 YAML 1.2 has no merge keys'],
    ['a tag that makes code', 'nodes:\n  - !!js/function "x"', '2:5 expected plain YAML, found a custom tag'],
    ['a tag of another schema', 'nodes: !!set {a}', '1:8 expected plain YAML, found a custom tag'],
    ['a tag that does not fit', 'nodes: !!int abc', '1:8 expected plain YAML, found a tag that does not fit its value'],
    ['a second document', 'nodes: []\n---\nnodes: []', '2:1 expected one YAML document, found a second one'],
    ['a tab', 'nodes:\n\t- type: http', '2:1 not valid YAML: tabs are not allowed as indentation; expected spaces'],
    ['a list as a key', '? [a]\n: b', '1:3 expected a text as the key, found a list or a mapping'],
    ['a quote that is never closed', 'name: x\nnodes: "abc\n\n', '2:8 not valid YAML: this quote is never closed'],
    [
      'a bracket that is never closed',
      'name: x\nnodes: [a, b\n',
      '2:8 not valid YAML: opened here and never closed with ]; or what is inside is not indented enough',
    ],
    ['a value that needs quotes', 'name: a: b', '1:7 not valid YAML: a value that holds ": " needs quotes'],
    ['a character that needs quotes', 'name: @a', '1:7 not valid YAML: plain value cannot start with reserved character @'],
    ['an unknown escape', 'name: "\\q"', '1:8 not valid YAML: no such escape sequence; in double quotes a backslash is written \\\\'],
    [
      'indentation that does not fit',
      'nodes:\n  - type: http\n     url: x',
      '2:11 not valid YAML: the indentation does not fit; items of one list or mapping start at the same column',
    ],
    ['an alias without its anchor', 'nodes: [*nope]', '1:9 not valid YAML: there is no anchor of this name before the alias'],
    ['an alias inside itself', 'nodes: &a [{ x: *a }]', '1:17 not valid YAML: the alias is inside its own anchor'],
  ])('%s', (_what, yaml, problem) => {
    expect(flowProblems(yaml).map(onOneLine)).toContain(problem);
  });

  test('an alias bomb is refused quickly', () => {
    const levels = Array.from(
      { length: 10 },
      (_, level) => `l${level}: &l${level} [${Array(10).fill(level === 0 ? 'x' : `*l${level - 1}`)}]`,
    );
    expect(flowProblems(`${levels.join('\n')}\nnodes: [*l9]`).map(onOneLine)).toEqual([
      '2:10 expected plain YAML, found aliases that expand to more than a flow can hold',
    ]);
  });

  test.each([
    ['brackets', `nodes: ${'['.repeat(100_000)}`, '1:208'],
    ['braces', `nodes: ${'{a: '.repeat(5000)}`, '1:808'],
    ['dashes', `nodes:\n${'- '.repeat(5000)}x`, '2:1'],
    ['question marks', `nodes:\n${'? '.repeat(5000)}x`, '2:1'],
    ['indentation', Array.from({ length: 1500 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'), '202:202'],
  ])('nesting too deep with %s is refused', (_what, yaml, place) => {
    expect(flowProblems(yaml).map(onOneLine)).toEqual([`${place} expected YAML nested at most 200 deep`]);
  });

  test.each([
    ['a value', 'url: {{url}}'],
    ['in a mapping', 'url: {a: {{url}}}'],
    ['in a list', 'url: [{{url}}, 1]'],
  ])('a reference without quotes, as %s, is reported to need them', (_what, yaml) => {
    expect(flowProblems(yaml).map(({ message }) => message)).toEqual([
      'expected a text, found {{ without quotes, which begins a mapping in YAML\nput the whole value in quotes, as in "{{field}}"; for a number from a table in a body: { cel: int(field) }',
    ]);
  });

  test.each([
    ['in a list', 'map: [a, results[].id, b[0]]', ['1:10', '1:24']],
    ['first in a list', 'map: [[].id]', ['1:7']],
    ['in a mapping', 'map: { sku: orders[].lines[].sku, b: "x[0]" }', ['1:13']],
    ['as an item', 'map:\n  - [0].name', ['2:5']],
  ])('a path with brackets but no quotes, %s, is reported to need them', (_what, yaml, places) => {
    expect(flowProblems(yaml).map(onOneLine)).toEqual(places.map((place) => `${place} not valid YAML: a path with [ ] needs quotes here`));
  });

  test('a line below a URL that is indented too far is reported once', () => {
    expect(flowProblems('nodes:\n  - url: https://a.com/x\n      map: [a]').map(onOneLine)).toEqual([
      '2:10 not valid YAML: the indentation does not fit; items of one list or mapping start at the same column',
    ]);
  });

  test('a text that begins with ! is reported to need quotes', () => {
    const [problem] = flowProblems('nodes: [{ type: http, url: "https://a.com", when: !has(x) }]');
    expect(problem?.message).toBe('expected plain YAML, found a custom tag\na text that begins with ! needs quotes');
  });

  test('an unexpected token is reported once, and not those after it', () => {
    expect(flowProblems('name: "a" b\nnodes:\n  - type: http\n    url: x\n').map(onOneLine)).toEqual([
      '1:11 not valid YAML: this does not belong here; are quotes, a comma or a line break missing before it?',
    ]);
    expect(flowProblems('a { type: http, x: [1, 2], y }: z\nb: c\nd: e\n').length).toBeLessThanOrEqual(2);
  });

  test('several problems are reported at once, in order', () => {
    expect(flowProblems('name: !x a\nname: b\nnodes: [@]\n').map(({ line }) => line)).toEqual([1, 2, 3]);
  });
});

describe('plain YAML', () => {
  test('one anchor may be used many times', () => {
    const nodes = Array.from({ length: 150 }, (_, index) => `  - { type: http, url: https://a.com/${index}, retry: *r }\n`);
    expect(planFor(`nodes:\n  - { type: http, url: https://a.com/x, retry: &r { max: 1 } }\n${nodes.join('')}`).steps).toHaveLength(151);
  });

  test('a flow may be JSON', () => {
    expect(planFor(JSON.stringify({ name: 'x', nodes: [{ type: 'set', fields: { a: 1 } }] }, null, '\t')).name).toBe('x');
  });

  test('a few anchors and aliases are allowed', () => {
    const plan = planFor(
      'nodes:\n  - { type: http, url: https://a.com/1, retry: &r { max: 1 } }\n  - { type: http, url: https://a.com/2, retry: *r }\n',
    );
    expect(plan.steps).toHaveLength(2);
  });

  test('core types, a byte order mark and a document start are read', () => {
    expect(planFor('\ufeff---\nname: !!str 5\nnodes: [{ type: set, fields: { a: !!int "5" } }]\n').name).toBe('5');
  });

  test('words of YAML 1.1 are texts: no, off, 012, 1_000', () => {
    expect(flowProblems('nodes: [{ type: set, fields: { a: no, b: off, c: 1_000, d: 2024-01-01, e: 1:30 } }]')).toEqual([]);
    expect(flowProblems('nodes: [{ type: http, url: "https://a.com", idempotency_key: on }]').map(onOneLine)).toEqual([
      '1:62 expected true, false or a text with {{field}}, found "on"',
    ]);
  });
});
