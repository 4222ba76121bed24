import { isMap, isScalar, type Pair, parseDocument, type Scalar, type YAMLMap } from 'yaml';

/** The paths of a map by their fields. */
export type WrittenMap = Readonly<Record<string, string>>;

/** A node as it is written. */
export interface NodeText {
  /** Without the indentation of its first line. */
  readonly yaml: string;
  /** Empty without a map; absent for one that says more than fields and paths. */
  readonly map: WrittenMap | undefined;
}

/** The nodes of a flow file, in their order. */
export function nodeTexts(text: string): NodeText[] {
  return nodesIn(text).map((node) => ({ yaml: yamlOf(text, node), map: mapOf(node) }));
}

/** The text of a flow file with another map in one of its nodes. All else stays byte for byte. */
export function withMap(text: string, index: number, map: WrittenMap): string {
  const node = nodesIn(text)[index];
  if (!node) throw new Error(`expected a node with the index ${index}`);
  const pair = pairOf(node);
  const [from, to] = pair ? placeIn(text, pair) : [endOffset(text, node), endOffset(text, node)];
  if (node.flow) return `${text.slice(0, from)}${pair ? '' : ', '}map: ${flowText(map)}${text.slice(to)}`;
  const indent = ' '.repeat(columnAt(text, rangeOf(node)[0]));
  const block = blockText(map, indent);
  if (pair) return text.slice(0, from) + block + text.slice(to);
  const lineEnd = text.indexOf('\n', from);
  const at = lineEnd < 0 ? text.length : lineEnd;
  return `${text.slice(0, at)}\n${indent}${block}${text.slice(at)}`;
}

function nodesIn(text: string): YAMLMap[] {
  const nodes = parseDocument(text, { prettyErrors: false, logLevel: 'silent' }).get('nodes');
  const items = (nodes as { items?: readonly unknown[] } | undefined)?.items ?? [];
  return items.filter((item) => isMap(item));
}

function pairOf(node: YAMLMap): Pair<Scalar, Scalar | YAMLMap | null> | undefined {
  return node.items.find(({ key }) => isScalar(key) && key.value === 'map') as Pair<Scalar, Scalar | YAMLMap | null> | undefined;
}

function mapOf(node: YAMLMap): WrittenMap | undefined {
  const value = pairOf(node)?.value;
  if (value === undefined || value === null || (isScalar(value) && value.value === null)) return {};
  if (!isMap(value)) return undefined;
  const entries = value.items.map(({ key, value: path }) => [
    isScalar(key) ? key.value : undefined,
    isScalar(path) ? path.value : undefined,
  ]);
  return entries.every(([field, path]) => typeof field === 'string' && typeof path === 'string') ? Object.fromEntries(entries) : undefined;
}

function rangeOf({ range }: { readonly range?: readonly [number, number, number] | null | undefined }): readonly [number, number, number] {
  return range ?? [0, 0, 0];
}

/** From the key to the end of the value, without the blanks and line breaks after it. */
function placeIn(text: string, { key, value }: Pair<Scalar, Scalar | YAMLMap | null>): readonly [number, number] {
  const [from, keyEnd] = rangeOf(key);
  const to = Math.max(value ? rangeOf(value)[1] : 0, keyEnd + 1);
  return [from, from + text.slice(from, to).trimEnd().length];
}

function endOffset(text: string, node: YAMLMap): number {
  return Math.max(...node.items.map((pair) => placeIn(text, pair as Pair<Scalar, Scalar>)[1]));
}

/** The first column is 0. */
function columnAt(text: string, at: number): number {
  return at - (text.lastIndexOf('\n', at - 1) + 1);
}

function yamlOf(text: string, node: YAMLMap): string {
  const [from, to] = rangeOf(node);
  const indent = new RegExp(`^ {1,${Math.max(1, columnAt(text, from))}}`, 'gm');
  return text.slice(from, to).replace(indent, '').trimEnd();
}

function blockText(map: WrittenMap, indent: string): string {
  const lines = Object.entries(map).map(([field, path]) => `${indent}  ${word(field)}: ${word(path)}`);
  return lines.length === 0 ? 'map: {}' : ['map:', ...lines].join('\n');
}

function flowText(map: WrittenMap): string {
  const entries = Object.entries(map).map(([field, path]) => `${JSON.stringify(field)}: ${JSON.stringify(path)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

/** A text as a YAML word: plain if it can only be read as this text, else in quotes. */
function word(text: string): string {
  const isPlain = /^[A-Za-z_][\w.[\]-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}
