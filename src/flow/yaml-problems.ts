import { type Alias, type Document, isAlias, isCollection, isScalar, isSeq, type Node, visit, type YAMLError } from 'yaml';

export interface YamlProblem {
  /** The 0-based position in the text of the file. */
  readonly offset: number;
  readonly message: string;
  readonly width?: number;
  /** True if the meaning of the file is clear despite the problem, so that the rest can be checked. */
  readonly leavesMeaning?: boolean;
}

const maxDepth = 200;

/** Text that is nested too deeply must not be parsed, because parsing could take minutes or crash the process. */
export function depthProblem(text: string): YamlProblem | undefined {
  let depth = 0;
  for (const { 0: found, index } of text.matchAll(/[[{\]}]|(?:[-?] +){201,}|^ {201,}(?=\S)/gm)) {
    if (found === ']' || found === '}') depth = Math.max(0, depth - 1);
    else if (found.length > 1 || ++depth > maxDepth) {
      return { offset: index + (found.trim() === '' ? found.length : 0), message: `expected YAML nested at most ${maxDepth} deep` };
    }
  }
  return undefined;
}

/** No message quotes the file, because in invalid YAML, any text might be a secret. */
export function yamlProblems(text: string, document: Document): YamlProblem[] {
  const indentation = indentationProblem(text, document);
  if (indentation) return [indentation];
  const tags = tagProblems(text, document);
  const errors = [...document.errors, ...document.warnings].filter(
    ({ code, pos }) => code !== 'TAG_RESOLVE_FAILED' || !tags.some(({ offset }) => offset === pos[0]),
  );
  const barePaths = barePathsIn(text, errors);
  const reportedLines = new Set(barePaths.map((offset) => lineStart(text, offset)));
  const isNested = (at: number) => errors.some(({ code, pos }) => code === 'BLOCK_AS_IMPLICIT_KEY' && pos[0] === at);
  // Reports only the first unexpected token, because all tokens after it are unexpected, too.
  const first = errors.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN');
  const problems = [
    ...errors
      .filter(({ code }, index) => code !== 'UNEXPECTED_TOKEN' || index === first)
      .filter(({ code, pos }) => code !== 'MULTILINE_IMPLICIT_KEY' || !isNested(pos[0]))
      .map((error) => ({
        offset: problemOffset(error, text, document),
        message: yamlMessage(error, text),
        leavesMeaning: error.code === 'DUPLICATE_KEY',
      }))
      .filter(({ offset, leavesMeaning }) => leavesMeaning || !reportedLines.has(lineStart(text, offset))),
    ...barePaths.map((offset) => ({ offset, message: bare })),
    ...tags,
    ...mergeKeyProblems(document),
  ];
  return problems.length > 0 ? problems : aliasProblems(document);
}

/** Spaces of web pages and word processors at the start of a line, or after its key or dash, which YAML reads as part of a word. */
const otherSpaces = /^[ \t]*(?:- +)*(?:-|[\p{L}\p{N}_$.-]+:)?(?![ \t\r\n])[\p{Z}\u200b\ufeff]/gmu;

/** Reports only the first such line, because the lines around it seem wrong, too. Such spaces may be part of a text. */
function indentationProblem(text: string, document: Document): YamlProblem | undefined {
  const texts: (readonly [start: number, end: number])[] = [];
  const found = [...text.matchAll(otherSpaces)]
    .map(({ 0: { length }, index }) => index + length - 1)
    .filter((at) => at > 0 || text[at] !== '\ufeff');
  if (found.length === 0) return undefined;
  visit(document, {
    Scalar(_key, { type, range }) {
      if (range && type !== 'PLAIN') texts.push([range[0], range[1]]);
    },
  });
  const offset = found.find((at) => !texts.some(([start, end]) => start < at && at < end));
  if (offset === undefined) return undefined;
  const code = (text.codePointAt(offset) as number).toString(16).toUpperCase().padStart(4, '0');
  const name = code === '00A0' || code === '202F' ? 'a no-break space' : 'a special space';
  const before = text.charAt(offset - 1);
  const expected = before === ':' || before === '-' ? `a space after ${before === ':' ? 'a colon' : 'a dash'}` : 'spaces as indentation';
  return { offset, message: `not valid YAML: expected ${expected}, found ${name} (U+${code})\n${ordinarySpaces}` };
}

const ordinarySpaces = 'replace every such space with an ordinary one: text that is copied from a web page or a chat can contain them';

const messages: Readonly<Record<string, string>> = {
  BAD_INDENT: 'not valid YAML: the indentation does not fit; items of one list or mapping start at the same column',
  BLOCK_AS_IMPLICIT_KEY: 'not valid YAML: a value that contains ": " needs quotes',
  BAD_DIRECTIVE: 'not valid YAML: a line that begins with % is a directive, and this one is not known',
  BAD_DQ_ESCAPE: 'not valid YAML: no such escape sequence; in double quotes a backslash is written \\\\',
  DUPLICATE_KEY: 'expected each key once, found this one twice',
  MULTILINE_IMPLICIT_KEY: 'not valid YAML: expected a key, a colon and a space before the value, on one line',
  MISSING_CHAR: 'not valid YAML: something is missing before this (a comma, a dash, or a colon with a space), or the indentation is wrong',
  MULTIPLE_DOCS: 'expected one YAML document, found a second one',
  NON_STRING_KEY: 'expected a string as the key, found a list or a mapping',
  TAB_AS_INDENT: 'not valid YAML: tabs are not allowed as indentation; expected spaces',
  TAG_RESOLVE_FAILED: 'expected plain YAML, found a tag that does not fit its value',
  UNEXPECTED_TOKEN: 'not valid YAML: this does not belong here; are quotes, a comma or a line break missing before it?',
};

/** For `{{name}}` without quotes, which YAML reads as a mapping whose key is a mapping. */
const unquoted =
  'expected a string, found {{ without quotes, which begins a mapping in YAML\nput the whole value in quotes, as in "{{field}}"; for a number from a table in a body: { cel: int(field) }';

/** For an unquoted path with `[ ]` in a bracketed list or mapping, where YAML reads the path's brackets as those of a list. */
const bare = 'not valid YAML: a path with [ ] needs quotes here\nput the whole path in quotes, as in "results[0].value"';

const barePath = /(?<![\p{L}\p{N}_$.-])(?:[\p{L}\p{N}_$.-]+\[\d*\]|\[\d*\](?=\.))[\p{L}\p{N}_$.[\]-]*/gu;

/** Unquoted paths whose brackets made the YAML invalid. */
function barePathsIn(text: string, errors: readonly YAMLError[]): number[] {
  const failures = errors.filter(({ code }) => code === 'MISSING_CHAR' || code === 'UNEXPECTED_TOKEN').map(({ pos }) => pos[0]);
  if (failures.length === 0) return [];
  return [...text.matchAll(barePath)]
    .filter(({ index, 0: path }) => failures.some((offset) => index <= offset && offset < index + path.length))
    .map(({ index }) => index);
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

function yamlMessage({ code, message, pos }: YAMLError, text: string): string {
  if (code === 'NON_STRING_KEY' && text.startsWith('{{', pos[0] - 1)) return unquoted;
  const bracket = /end with a ([\]}])$/.exec(message)?.[1];
  if (bracket !== undefined)
    return `not valid YAML: opened here and never closed with ${bracket}; or what is inside is not indented enough`;
  if (message.startsWith('Missing closing')) return 'not valid YAML: this quote is never closed';
  if (code === 'BLOCK_AS_IMPLICIT_KEY' && /^ *-[^\s-]/.test(text.slice(lineStart(text, pos[0]), pos[0] + 2)))
    return 'not valid YAML: a dash at the start of a line needs a space after it';
  // The value ends at the end of its line, so the mistake is the next line's indentation.
  if (code === 'BLOCK_AS_IMPLICIT_KEY' && !/^.*:(?:\s|$)/.test(text.slice(pos[0]).split(/\r?\n/, 1)[0] as string))
    return messages.BAD_INDENT as string;
  return messages[code] ?? `not valid YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

/** For an unclosed quote or bracket, this is its own position, not the end of the file. */
function problemOffset({ code, message, pos }: YAMLError, text: string, document: Document): number {
  let opened = pos[0];
  if (code === 'TAB_AS_INDENT') return opened;
  if (!/^Missing closing|end with a [\]}]$/.test(message)) return opened + (/^ */.exec(text.slice(opened))?.[0].length ?? 0);
  visit(document, {
    Node(_key, node) {
      const isOpen = (isScalar(node) && node.type?.startsWith('QUOTE')) || (isCollection(node) && node.flow);
      if (isOpen && node.range && node.range[0] < pos[0] && node.range[1] === pos[0]) opened = node.range[0];
    },
  });
  return opened;
}

/** Refuses YAML tags such as `!custom`, except for YAML's own tags for plain data. */
function tagProblems(text: string, document: Document): YamlProblem[] {
  const problems: YamlProblem[] = [];
  visit(document, {
    Node(_key, node) {
      if (isAlias(node) || node.tag === undefined || !node.range) return;
      if (/^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/.test(node.tag)) return;
      const before = text.slice(0, node.range[0]);
      const offset = /!\S*\s*(?:&\S+\s*)?$/.exec(before)?.index ?? node.range[0];
      problems.push({
        offset,
        message: 'expected plain YAML, found a custom tag\ntext that begins with ! needs quotes',
        // The library turns YAML's other own tags, such as !!binary, into values that no flow can contain.
        leavesMeaning: !node.tag.startsWith('tag:yaml.org,2002:'),
      });
    },
  });
  return problems;
}

/** Finds each `<<: *name`. In YAML 1.1, this merges the keys of another mapping. In YAML 1.2, `<<` is an ordinary key. */
function mergeKeyProblems(document: Document): YamlProblem[] {
  const problems: YamlProblem[] = [];
  visit(document, {
    Pair(_key, { key, value }) {
      if (!isScalar(key) || key.value !== '<<' || key.type !== 'PLAIN' || !key.range) return;
      if (!isAlias(value) && !(isSeq(value) && value.items.every(isAlias))) return;
      problems.push({
        offset: key.range[0],
        width: 2,
        message: 'YAML 1.2 has no merge keys\nwrite the keys out; a whole value may be repeated with *name',
      });
    },
  });
  return problems;
}

/** Also detects an alias bomb (nested aliases that expand to huge data) before it can do harm. */
function aliasProblems(document: Document): YamlProblem[] {
  const problems: YamlProblem[] = [];
  let first: number | undefined;
  visit(document, {
    Alias(_key, alias, ancestors) {
      const offset = alias.range?.[0] ?? 0;
      first ??= offset;
      const message = aliasProblem(alias, document, ancestors);
      if (message !== undefined) problems.push({ offset, message });
    },
  });
  if (first === undefined || problems.length > 0) return problems;
  try {
    document.toJS({ maxAliasCount: 1000 });
    return [];
  } catch {
    return [{ offset: first, message: 'expected plain YAML, found aliases that expand to more than a flow can contain' }];
  }
}

function aliasProblem(alias: Alias, document: Document, ancestors: readonly unknown[]): string | undefined {
  const target: Node | undefined = alias.resolve(document);
  if (!target) return 'not valid YAML: there is no anchor with this name before the alias\ntext that begins with * needs quotes';
  return ancestors.includes(target) ? 'not valid YAML: the alias is inside its own anchor' : undefined;
}
