import { describe, expect, test } from 'vitest';
import { nodeTexts, withMap } from '../../src/flow/map-text.ts';

describe('the map of a node in the text of a flow', () => {
  test('is replaced, and comments and blanks around it stay', () => {
    const text = 'name: a # b\nnodes:\n  - type: http\n    map:   # the old\n      a: b\n      c: d\n\n    # after\n    url: x\n';
    expect(withMap(text, 0, { e: 'f[0].g', 'two words': 'h' })).toBe(
      'name: a # b\nnodes:\n  - type: http\n    map:\n      e: f[0].g\n      "two words": h\n\n    # after\n    url: x\n',
    );
  });

  test('is added after the last option of the node', () => {
    const text = 'nodes:\n  - type: http\n    url: x # here\n  - type: set\n    fields: { a: "1" }\n';
    expect(withMap(text, 0, { a: 'b' })).toBe(text.replace('# here\n', '# here\n    map:\n      a: b\n'));
    expect(withMap('nodes:\n- type: http\n  url: x', 0, { a: 'b' })).toBe('nodes:\n- type: http\n  url: x\n  map:\n    a: b');
  });

  test('stays on one line in a node on one line', () => {
    expect(withMap('nodes: [{ type: http, map: { a: b }, url: x }]\n', 0, { c: 'd[]' })).toBe(
      'nodes: [{ type: http, map: { "c": "d[]" }, url: x }]\n',
    );
    expect(withMap('nodes: [{ type: http, url: x }]\n', 0, { c: 'd' })).toBe('nodes: [{ type: http, url: x, map: { "c": "d" } }]\n');
  });

  test('may become empty', () => {
    expect(withMap('nodes:\n  - map:\n      a: b\n    type: http\n', 0, {})).toBe('nodes:\n  - map: {}\n    type: http\n');
  });

  test('is read, unless it says more than fields and paths', () => {
    const text =
      'nodes:\n  - type: http\n    url: x\n  - type: http\n    map: { a: b }\n  - type: http\n    map:\n      a: { path: b, required: true }\n';
    expect(nodeTexts(text).map(({ map }) => map)).toEqual([{}, { a: 'b' }, undefined]);
    expect(nodeTexts(text)[0]?.yaml).toBe('type: http\nurl: x');
    expect(nodeTexts('nodes: 7')).toEqual([]);
  });
});
