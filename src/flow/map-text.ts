import { isMap, isScalar, isSeq, type Pair, parseDocument, type Scalar, type YAMLMap, type YAMLSeq } from 'yaml';
import { yamlMapWord } from '../core/text/quoted-word.ts';

/** As written in a flow: field names mapped to paths in a response. */
export type MapText = Readonly<Record<string, string>>;

interface NodeText {
  /** Without the indentation of the first line. */
  readonly yaml: string;
  /** Empty if the node has no `map`; undefined if the option contains more than field names and paths, or comments between braces. */
  readonly map: MapText | undefined;
}

export function nodeTexts(text: string): NodeText[] {
  return nodesIn(text).map((node) => ({ yaml: yamlOf(text, node), map: mapOf(text, node) }));
}

/** Replaces one node's `map`. All else stays the same to the byte, including the comments of unchanged entries. */
export function withMap(text: string, index: number, map: MapText): string {
  const node = nodesIn(text)[index];
  if (!node) throw new Error(`expected a node with the index ${index}`);
  const list = pairOf(node)?.value;
  if (isSeq(list) && !list.flow) return withMap(asMapping(text, node, list), index, map);
  return edited(text, editsOf(text, node, map));
}

/** Turns a list with a path on each line into a mapping, in which the path is the name of its field, too. Comments keep their places. */
function asMapping(text: string, node: YAMLMap, list: YAMLSeq): string {
  const items = list.srcToken?.type === 'block-seq' ? list.srcToken.items : [];
  const dashes = items.flatMap(({ start }) => start.find(({ type }) => type === 'seq-item-ind') ?? []);
  const edits = dashes.map(({ offset }, index): Edit => {
    // YAML allows a list in the column of its key, but not a mapping.
    const pad = columnAt(text, offset) > columnAt(text, rangeOf(node)[0]) ? '' : '  ';
    const word = yamlMapWord((list.items[index] as Scalar<string>).value);
    return { from: offset, to: offset + 1, text: `${pad}${word}:` };
  });
  return edited(text, edits);
}

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function edited(text: string, edits: readonly Edit[]): string {
  return [...edits].reverse().reduce((whole, edit) => whole.slice(0, edit.from) + edit.text + whole.slice(edit.to), text);
}

function editsOf(text: string, node: YAMLMap, map: MapText): Edit[] {
  const pair = pairOf(node);
  const indent = ' '.repeat(columnAt(text, rangeOf(node)[0]));
  if (!pair) {
    const end = endOffset(text, node);
    if (node.flow) return [{ from: end, to: end, text: `, map: ${flowText(map)}` }];
    const block = Object.keys(map).length === 0 ? 'map: {}' : `map:${entryLines(map, indent)}`;
    return [insertion(lineEnd(text, end), `\n${indent}${block}`)];
  }
  const value = isMap(pair.value) ? pair.value : undefined;
  const afterColon = text.indexOf(':', rangeOf(pair.key)[1]) + 1;
  const isEmptied = Object.keys(map).length === 0;
  if (node.flow || (value?.flow && (value.items.length > 0 || isEmptied)))
    return [{ from: afterColon, to: placeIn(text, pair)[1], text: ` ${flowText(map)}` }];
  if (value && !value.flow) return [...(isEmptied ? [insertion(afterColon, ' {}')] : []), ...entryEdits(text, value, map)];
  const end = placeIn(text, pair)[1];
  return [{ from: afterColon, to: end, text: isEmptied ? ' {}' : '' }, insertion(lineEnd(text, end), entryLines(map, indent))];
}

/** Changes a map with one entry per line. Unchanged entries keep their lines. */
function entryEdits(text: string, { items }: YAMLMap, map: MapText): Edit[] {
  const pairs = items as Pair<Scalar<string>, Scalar<string>>[];
  const edits = pairs.flatMap((pair): Edit[] => {
    const field = pair.key.value;
    const end = placeIn(text, pair as Pair<Scalar, Scalar>)[1];
    if (!Object.hasOwn(map, field)) return [{ from: text.lastIndexOf('\n', rangeOf(pair.key)[0]), to: lineEnd(text, end), text: '' }];
    const path = map[field] as string;
    return pair.value?.value === path ? [] : [{ from: rangeOf(pair.value ?? pair.key)[0], to: end, text: yamlMapWord(path) }];
  });
  const first = pairs[0] as (typeof pairs)[0];
  const last = pairs.at(-1) as (typeof pairs)[0];
  const added = Object.entries(map).filter(([field]) => pairs.every(({ key }) => key.value !== field));
  const indent = ' '.repeat(columnAt(text, rangeOf(first.key)[0]) - 2);
  return [
    ...edits,
    insertion(lineEnd(text, placeIn(text, last as Pair<Scalar, Scalar>)[1]), entryLines(Object.fromEntries(added), indent)),
  ];
}

function insertion(at: number, text: string): Edit {
  return { from: at, to: at, text };
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\n', from);
  if (at < 0) return text.length;
  return text[at - 1] === '\r' ? at - 1 : at;
}

function nodesIn(text: string): YAMLMap[] {
  const nodes = parseDocument(text, { prettyErrors: false, logLevel: 'silent', keepSourceTokens: true }).get('nodes');
  const items = (nodes as { items?: readonly unknown[] } | undefined)?.items ?? [];
  return items.filter((item) => isMap(item));
}

function pairOf(node: YAMLMap): Pair<Scalar, Scalar | YAMLMap | null> | undefined {
  return node.items.find(({ key }) => isScalar(key) && key.value === 'map') as Pair<Scalar, Scalar | YAMLMap | null> | undefined;
}

function mapOf(text: string, node: YAMLMap): MapText | undefined {
  const value = pairOf(node)?.value;
  if (value === undefined || value === null || (isScalar(value) && value.value === null)) return {};
  // Text in braces or brackets is written anew as a whole, so its comments would be lost.
  if ((isMap(value) || isSeq(value)) && value.flow && /\s#/.test(text.slice(rangeOf(value)[0], rangeOf(value)[1]))) return undefined;
  if (isSeq(value)) return pathsOf(value);
  if (!isMap(value)) return undefined;
  const entries = value.items.map(({ key, value: path }) => [
    isScalar(key) ? key.value : undefined,
    isScalar(path) ? path.value : undefined,
  ]);
  return entries.every(([field, path]) => typeof field === 'string' && typeof path === 'string') ? Object.fromEntries(entries) : undefined;
}

/** In a list, each path is the name of its field, too. */
function pathsOf({ items }: YAMLSeq): MapText | undefined {
  const paths = items.map((item) => (isScalar(item) ? item.value : undefined));
  if (!paths.every((path) => typeof path === 'string')) return undefined;
  return Object.fromEntries(paths.map((path) => [path, path]));
}

function rangeOf({ range }: { readonly range?: readonly [number, number, number] | null }): readonly [number, number, number] {
  return range ?? [0, 0, 0];
}

/** From the start of the key to the end of the value, without the spaces and line breaks after it. */
function placeIn(text: string, { key, value }: Pair<Scalar, Scalar | YAMLMap | null>): readonly [number, number] {
  const [from, keyEnd] = rangeOf(key);
  const to = Math.max(value ? rangeOf(value)[1] : 0, keyEnd + 1);
  return [from, from + text.slice(from, to).trimEnd().length];
}

function endOffset(text: string, node: YAMLMap): number {
  return Math.max(...node.items.map((pair) => placeIn(text, pair as Pair<Scalar, Scalar>)[1]));
}

/** 0-based. */
function columnAt(text: string, at: number): number {
  return at - (text.lastIndexOf('\n', at - 1) + 1);
}

function yamlOf(text: string, node: YAMLMap): string {
  const [from, to] = rangeOf(node);
  const indent = new RegExp(`^ {1,${Math.max(1, columnAt(text, from))}}`, 'gm');
  return text.slice(from, to).replace(indent, '').trimEnd();
}

/** Each entry's line is preceded by a line break. */
function entryLines(map: MapText, indent: string): string {
  return Object.entries(map)
    .map(([field, path]) => `\n${indent}  ${yamlMapWord(field)}: ${yamlMapWord(path)}`)
    .join('');
}

function flowText(map: MapText): string {
  const entries = Object.entries(map).map(([field, path]) => `${JSON.stringify(field)}: ${JSON.stringify(path)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}
