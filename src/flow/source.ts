import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Pair, parseDocument, type Range, visit } from 'yaml';
import type { Problem } from '../core/failure.ts';
import { literalSecrets, maskedText, secretRanges } from './secrets.ts';

/** Where something stands in a flow: names and indices from the top. */
export type At = readonly (string | number)[];

/** A flow file as it was read: its values, and where each stands. */
export interface Source {
  /** The whole file as plain values; `undefined` when the YAML is broken. */
  readonly value: unknown;
  /** What is wrong with the YAML itself, and literal secrets. */
  readonly problems: readonly Problem[];
  /** A problem at a value, or at its nearest parent. `within`: the text inside it that is meant, or how far into it. */
  at(place: At, message: string, within?: string | number): Problem;
  /** A problem at a name. */
  atName(place: At, message: string): Problem;
}

/** Reads a flow's YAML: 1.2 core schema, one document, no duplicate keys, no custom tags, no alias bombs. */
export function readSource(text: string): Source {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    logLevel: 'silent',
  });
  const masked = maskedText(text, secretRanges(document)).split('\n');
  const place = (offset: number, message: string, width = 1): Problem => {
    const { line, col } = lines.linePos(offset);
    const source = { text: (masked[line - 1] ?? '').replace(/\r$/, ''), caret: col - 1, width };
    return { message, line, column: col, source };
  };
  const problems = [
    ...[...document.errors, ...document.warnings].map((error) => place(error.pos[0], yamlMessage(error.code, error.message))),
    ...tagProblems(document, place),
  ];
  const value = problems.length > 0 ? undefined : valueOf(document, problems, place);
  for (const { range, found } of literalSecrets(document)) {
    problems.push(place(range[0], `${found} holds a literal secret\n${storeIt}`));
  }
  return {
    value,
    problems,
    at(path, message, within) {
      const range = valueRange(document, path);
      const offset = offsetWithin(text, range, within);
      return place(offset, message, Math.max(1, Math.min(range[1], lineEnd(text, offset)) - offset));
    },
    atName(path, message) {
      const [start, end] = nameRange(document, path) ?? valueRange(document, path);
      return place(start, message, end - start);
    },
  };
}

const storeIt =
  'put it into the environment as AUTOMATE_CREDENTIAL_NAME and name it: auth: { type: bearer, credential: name }, or api_key, basic';

type Place = (offset: number, message: string, width?: number) => Problem;

function yamlMessage(code: string, message: string): string {
  if (code === 'DUPLICATE_KEY') return 'this key is there twice; expected each key once';
  if (code === 'TAG_RESOLVE_FAILED') return 'expected plain YAML, found a custom tag';
  if (code === 'MULTIPLE_DOCS') return 'expected one YAML document, found a second one';
  return `not valid YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

function tagProblems(document: Document, place: Place): Problem[] {
  const problems: Problem[] = [];
  visit(document, {
    Node(_key, node) {
      if (isAlias(node) || node.tag === undefined || !node.range) return;
      if (!/^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/.test(node.tag)) {
        problems.push(place(node.range[0], 'expected plain YAML, found a custom tag'));
      }
    },
  });
  return problems;
}

/** Aliases are resolved here, so a bomb of them goes off here, harmlessly. */
function valueOf(document: Document, problems: Problem[], place: Place): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    let offset = 0;
    visit(document, { Alias: (_key, alias) => void (offset ||= alias.range?.[0] ?? 0) });
    problems.push(place(offset, `not valid YAML: ${(error as Error).message.replace(/^[A-Z]/, (first) => first.toLowerCase())}`));
    return undefined;
  }
}

/** The range of the value at a path, or of the nearest parent that is there. */
function valueRange(document: Document, path: At): [number, number] {
  for (let length = path.length; length >= 0; length--) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return [node.range[0], node.range[1]];
    const name = nameRange(document, path.slice(0, length));
    if (name) return name;
  }
  return [0, 1];
}

function nameRange(document: Document, path: At): [number, number] | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (isSeq(parent) || !isMap(parent)) return undefined;
  const pair = (parent.items as Pair[]).find(({ key }) => isScalar(key) && key.value === path.at(-1));
  const range = (pair?.key as { range?: Range | null } | undefined)?.range;
  return range ? [range[0], range[1]] : undefined;
}

function offsetWithin(text: string, [start, end]: readonly [number, number], within: string | number | undefined): number {
  if (within === undefined) return start;
  if (typeof within === 'string') {
    const found = text.indexOf(within, start);
    return found >= 0 && found < end ? found : start;
  }
  const isQuoted = /["']/.test(text[start] ?? '');
  return Math.min(end, start + within + (isQuoted ? 1 : 0));
}

function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end;
}
