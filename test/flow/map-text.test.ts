import { describe, expect, test } from 'vitest';
import { nodeTexts, withMap } from '../../src/flow/map-text.ts';

describe("replacing a node's map in a flow's text", () => {
  test('leaves the comments and blank lines around the map unchanged', () => {
    const text = 'name: a # b\nnodes:\n  - type: http\n    map:   # the old\n      a: b\n      c: d\n\n    # after\n    url: x\n';
    expect(withMap(text, 0, { e: 'f[0].g', 'two words': 'h' })).toBe(
      'name: a # b\nnodes:\n  - type: http\n    map:   # the old\n      e: f[0].g\n      "two words": h\n\n    # after\n    url: x\n',
    );
  });

  test('leaves the lines of unchanged entries, with their comments, as they are', () => {
    const text =
      'nodes:\n  - map:   # keep me\n      # above\n      a: b   # trailing\n      "c":  d # gone\n      # between\n      e: "f"\n    type: http\n';
    expect(withMap(text, 0, { a: 'b', e: 'f', g: 'h' })).toBe(
      'nodes:\n  - map:   # keep me\n      # above\n      a: b   # trailing\n      # between\n      e: "f"\n      g: h\n    type: http\n',
    );
    expect(withMap(text, 0, { a: 'x[0]', c: 'd', e: 'f' })).toBe(text.replace('a: b', 'a: x[0]'));
    expect(withMap(text, 0, { g: 'h' })).toBe('nodes:\n  - map:   # keep me\n      # above\n      # between\n      g: h\n    type: http\n');
    expect(withMap(text, 0, {})).toBe('nodes:\n  - map: {}   # keep me\n      # above\n      # between\n    type: http\n');
    expect(withMap(text.replaceAll('\n', '\r\n'), 0, { a: 'b', c: 'd', e: 'f' })).toBe(text.replaceAll('\n', '\r\n'));
    expect(nodeTexts(withMap(text, 0, {}))[0]?.map).toEqual({});
  });

  test("keeps the comment on the map's line if the map was empty or on one line", () => {
    for (const empty of [' {}', '', ' ~'])
      expect(withMap(`nodes:\n  - map:${empty} # here\n    type: http\n`, 0, { a: 'b' })).toBe(
        'nodes:\n  - map: # here\n      a: b\n    type: http\n',
      );
    expect(withMap('nodes:\n  - type: http\n    map: { a: b } # here\n', 0, { c: 'd' })).toBe(
      'nodes:\n  - type: http\n    map: { "c": "d" } # here\n',
    );
  });

  test('also works for a field called __proto__', () => {
    const map = JSON.parse('{"__proto__":"a"}') as Record<string, string>;
    const text = withMap('nodes:\n  - type: http\n', 0, map);
    expect(text).toContain('      __proto__: a\n');
    expect(Object.entries(nodeTexts(text)[0]?.map ?? {})).toEqual([['__proto__', 'a']]);
  });

  test('adds a new map after the last option of the node', () => {
    const text = 'nodes:\n  - type: http\n    url: x # here\n  - type: set\n    fields: { a: "1" }\n';
    expect(withMap(text, 0, { a: 'b' })).toBe(text.replace('# here\n', '# here\n    map:\n      a: b\n'));
    expect(withMap('nodes:\n- type: http\n  url: x', 0, { a: 'b' })).toBe('nodes:\n- type: http\n  url: x\n  map:\n    a: b');
  });

  test('keeps a one-line node on one line', () => {
    expect(withMap('nodes: [{ type: http, map: { a: b }, url: x }]\n', 0, { c: 'd[]' })).toBe(
      'nodes: [{ type: http, map: { "c": "d[]" }, url: x }]\n',
    );
    expect(withMap('nodes: [{ type: http, url: x }]\n', 0, { c: 'd' })).toBe('nodes: [{ type: http, url: x, map: { "c": "d" } }]\n');
  });

  test('can leave the map empty', () => {
    expect(withMap('nodes:\n  - map:\n      a: b\n    type: http\n', 0, {})).toBe('nodes:\n  - map: {}\n    type: http\n');
  });

  test('also replaces a list of paths, whose fields have the names of the paths', () => {
    const block = 'nodes:\n  - type: http\n    map:\n      - a\n      - b[].c\n    url: x\n';
    expect(nodeTexts(block)[0]?.map).toEqual({ a: 'a', 'b[].c': 'b[].c' });
    expect(withMap(block, 0, { a: 'a', d: 'e' })).toBe('nodes:\n  - type: http\n    map:\n      a: a\n      d: e\n    url: x\n');
    expect(withMap('nodes:\n  - type: http\n    map: [a] # here\n    url: x\n', 0, { a: 'a', d: 'e' })).toBe(
      'nodes:\n  - type: http\n    map: # here\n      a: a\n      d: e\n    url: x\n',
    );
    expect(withMap('nodes: [{ type: http, map: [a], url: x }]\n', 0, { a: 'a', d: 'e' })).toBe(
      'nodes: [{ type: http, map: { "a": "a", "d": "e" }, url: x }]\n',
    );
  });

  test.each(['      ', '    '])('keeps the comments of a list of paths with the indentation %j', (indent) => {
    const list = ['# ours', '- a   # an a-b', '-  "odd key" # odd', '# between', '- c', '# last', ''].map((line) => line && indent + line);
    const text = `nodes:\n  - type: http\n    map: # here\n${list.join('\n')}    url: x # there\n`;
    expect(nodeTexts(text)[0]?.map).toEqual({ a: 'a', 'odd key': 'odd key', c: 'c' });
    const changed = withMap(text, 0, { a: 'a', 'odd key': 'x', c: 'c', d: 'e' });
    const lines = ['# ours', '      a: a   # an a-b', '      "odd key":  x # odd', '# between', '# last'];
    expect(changed.split('\n').filter((line) => lines.some((one) => line.endsWith(one)))).toHaveLength(lines.length);
    expect(changed).toContain('      d: e\n');
    expect(nodeTexts(changed)[0]?.map).toEqual({ a: 'a', 'odd key': 'x', c: 'c', d: 'e' });
  });

  test('is not possible if braces or brackets have comments between them, which would be lost', () => {
    const maps = ['{ a: b, # one\n      c: d }', '[ a, # one\n      b ]', '[\n      # one\n      a ]'];
    for (const map of maps) expect(nodeTexts(`nodes:\n  - type: http\n    map: ${map}\n`)[0]?.map).toBeUndefined();
  });

  test('is possible only if each value of the map is just a path', () => {
    const text =
      'nodes:\n  - type: http\n    url: x\n  - type: http\n    map: { a: b }\n  - type: http\n    map:\n      a: { path: b, required: true }\n';
    expect(nodeTexts(text).map(({ map }) => map)).toEqual([{}, { a: 'b' }, undefined]);
    expect(nodeTexts(text)[0]?.yaml).toBe('type: http\nurl: x');
    expect(nodeTexts('nodes: 7')).toEqual([]);
  });
});
