import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { formatKinds } from '../src/records/formats.ts';

const src = fileURLToPath(new URL('../src/', import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));

/**
 * The rooms (the top-level folders of src), from the ground up. A room may import from itself and from the floors below its own. The node
 * types of `places` and `join` have rooms of their own because they read files, which those of `nodes` may not.
 */
const floors: readonly (readonly string[])[] = [
  ['core'],
  ['files'],
  ['flow', 'engine', 'records', 'credentials', 'credits'],
  ['http', 'output'],
  ['mcp', 'nodes'],
  ['places', 'join'],
  ['report'],
  ['run'],
  ['workers', 'flow-tools', 'preview', 'flow-tests', 'starter', 'connections'],
  ['serve'],
  ['cli', 'ui'],
];

/** The allowed exception: the module that renders a report. */
const doors = ['report/report-file.ts: ui/report.tsx'];

/** The rooms without access to the operating system and the network. Their work depends only on their arguments. */
const pure = ['core', 'flow', 'engine', 'nodes', 'starter'];

/** The source files, with their imports (including type imports) and syntax trees. */
const sources = files.map((name) => {
  const text = readFileSync(join(src, name), 'utf8');
  const tree = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const imports = importsOf(tree);
  const fromSrc = ({ path }: Import) => relative(src, join(src, dirname(name), path));
  return {
    name,
    text,
    tree,
    room: roomOf(name),
    ours: imports.filter(({ path }) => isOurs(path)).map(fromSrc),
    oursInCode: imports.filter(({ path, isType }) => isOurs(path) && !isType).map(fromSrc),
    packages: imports.map(({ path }) => path).filter((path) => !path.startsWith('.')),
    values: imports.flatMap(({ path, isType }) => (isType ? [] : path)),
  };
});

type Source = (typeof sources)[number];

/** True for a path that leads to a source file of this project. package.json does not count. */
function isOurs(path: string): boolean {
  return /^\..*\.tsx?$/.test(path);
}

function roomOf(path: string): string {
  return path.split('/')[0] as string;
}

/** An import. `isType` is true if it disappears when the code is compiled. */
interface Import {
  readonly path: string;
  readonly isType: boolean;
}

function importsOf(tree: ts.SourceFile): Import[] {
  const found: Import[] = [];
  visit(tree);
  return found;

  function visit(node: ts.Node): void {
    const isDynamic = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
    const from =
      ts.isImportDeclaration(node) || ts.isExportDeclaration(node) ? node.moduleSpecifier : isDynamic ? node.arguments[0] : undefined;
    const isType = ts.isImportDeclaration(node) && node.importClause?.isTypeOnly === true;
    if (from && ts.isStringLiteral(from)) found.push({ path: from.text, isType });
    ts.forEachChild(node, visit);
  }
}

/** Finds the places in all source files that break a rule. Returns each with its file. */
function breaches<Breach>(find: (source: Source) => readonly Breach[]): string[] {
  return sources.flatMap((source) => find(source).map((breach) => `${source.name}: ${breach}`));
}

const isBuiltin = (path: string) => path.startsWith('node:') || builtinModules.includes(path);
const floorOf = (path: string) => floors.findIndex((rooms) => rooms.includes(roomOf(path)));

describe('the rooms (the top-level folders of src)', () => {
  test('are exactly those of the floors', () => {
    expect([...new Set(sources.map(({ room }) => room))].sort()).toEqual(floors.flat().sort());
  });

  test('import only from the floors below them, types included', () => {
    const isAllowed = (name: string, path: string) => roomOf(path) === roomOf(name) || floorOf(path) < floorOf(name);
    expect(breaches(({ name, ours }) => ours.filter((path) => !isAllowed(name, path)))).toEqual(doors);
  });

  test('import code only from core if they run in a browser, and reach no package but preact', () => {
    const reached = new Set(sources.filter(({ room }) => room === 'ui'));
    for (const { oursInCode } of reached) for (const path of oursInCode) reached.add(sources.find(({ name }) => name === path) as Source);
    expect([...reached].filter(({ room }) => room !== 'ui' && room !== 'core').map(({ name }) => name)).toEqual([]);
    expect([...reached].flatMap(({ values }) => values.filter((path) => !/^[.]|^preact/.test(path)))).toEqual([]);
  });

  test('import no Node.js modules if they are pure', () => {
    expect(breaches(({ room, packages }) => (pure.includes(room) ? packages.filter(isBuiltin) : []))).toEqual([]);
  });

  test('use no clock, network, process or timer if they are pure', () => {
    const world = /\b(?:fetch\(|Date\.now|console\.|process\.|setTimeout\(|setInterval\(|performance\.|Math\.random|Buffer\b)/g;
    expect(
      breaches(({ room, text, tree }) => (pure.includes(room) && text.search(world) >= 0 ? (codeOf(tree).match(world) ?? []) : [])),
    ).toEqual([]);
  });

  test.each([
    [/^yaml$/, ['flow', 'starter', 'flow-tests']],
    [/^(?:undici|ky)$/, ['http']],
    [/^(?:csv-|saxes|yauzl|yazl)/, ['records', 'output', 'http']],
    [/^@?libsql/, ['files']],
    [/^@napi-rs\/keyring/, ['credentials']],
    [/^@modelcontextprotocol\/client/, ['mcp', 'http']],
    [/^@modelcontextprotocol\/(?:server|node)/, ['flow-tools']],
    [/^(?:bullmq|ioredis)/, ['workers']],
    [/^(?:commander|ora)$/, ['cli']],
    [/^@?fastify/, ['serve']],
    [/^preact/, ['ui']],
  ])('import values from packages that match %s only in %s', (library, homes) => {
    expect(breaches(({ room, values }) => (homes.includes(room) ? [] : values.filter((path) => library.test(path))))).toEqual([]);
  });
});

test('messages outside cli and serve mention no command-line option', () => {
  const options = (tree: ts.SourceFile) => textsOf(tree).filter((text) => /(?:^|[\s("'`])--[a-z]/.test(text));
  expect(breaches(({ room, tree }) => (['cli', 'serve', 'ui'].includes(room) ? [] : options(tree)))).toEqual([]);
});

test('at most 10 files name a format of records, so that a new format is an entry in the registry', () => {
  const names = new Set<string>(formatKinds.filter((kind) => kind !== 'json'));
  const found = sources.filter(({ tree }) => textsOf(tree).some((text) => names.has(text))).map(({ name }) => name);
  expect(found.length, found.join('\n')).toBeLessThanOrEqual(10);
});

describe('the functions of the source code', () => {
  const maxLines = 60;
  const maxDepth = 3;
  const functions = sources.flatMap(({ name, tree }) => functionsOf(tree).map((found) => ({ ...found, where: `${name} ${found.name}` })));

  test('have at most 60 lines', () => {
    expect(functions.filter(({ lines }) => lines > maxLines).map(({ where }) => where)).toEqual([]);
  });

  test('are nested at most three deep', () => {
    expect(functions.filter(({ depth }) => depth > maxDepth).map(({ where }) => where)).toEqual([]);
  });
});

test('the source files have no import cycles', () => {
  const importsOfFile = new Map(sources.map(({ name, ours }) => [name, ours]));
  const finished = new Set<string>();
  const cycles: string[] = [];
  for (const { name } of sources) follow(name, []);
  expect(cycles).toEqual([]);

  function follow(name: string, path: readonly string[]): void {
    if (path.includes(name)) cycles.push([...path.slice(path.indexOf(name)), name].join(' -> '));
    else if (!finished.has(name)) for (const next of importsOfFile.get(name) ?? []) follow(next, [...path, name]);
    finished.add(name);
  }
});

test('the source files have no default exports', () => {
  expect(
    breaches(({ tree }) => exportsOf(tree).filter((statement) => /^export default\b|\bas default\b/.test(statement.getText()))),
  ).toEqual([]);
});

function exportsOf(tree: ts.SourceFile): ts.Statement[] {
  return tree.statements.filter((statement) => /^export\b/.test(statement.getText()));
}

/** Returns the functions of a file, each with its number of lines and its nesting depth (1 for the outermost). */
function functionsOf(tree: ts.SourceFile): { name: string; lines: number; depth: number }[] {
  const found: { name: string; lines: number; depth: number }[] = [];
  visit(tree, 0);
  return found;

  function visit(node: ts.Node, outer: number): void {
    const depth = outer + (hasBody(node) ? 1 : 0);
    if (depth > outer) found.push({ name: nameOf(node), lines: lineOf(node.end) - lineOf(node.getStart()) + 1, depth });
    ts.forEachChild(node, (child) => visit(child, depth));
  }

  function hasBody(node: ts.Node): boolean {
    return ts.isFunctionLike(node) && (node as ts.FunctionLikeDeclaration).body !== undefined;
  }

  function nameOf(node: ts.Node): string {
    const { name } = ('name' in node && node.name ? node : node.parent) as { name?: ts.Node };
    return name?.getText() ?? '(anonymous)';
  }

  function lineOf(position: number): number {
    return tree.getLineAndCharacterOfPosition(position).line;
  }
}

/** Returns the string literals of a file, including the text parts of template literals. */
function textsOf(tree: ts.SourceFile): string[] {
  const texts: string[] = [];
  visit(tree);
  return texts;

  function visit(node: ts.Node): void {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) texts.push(node.text);
    ts.forEachChild(node, visit);
  }
}

/** Returns a file's code without its comments and string literals. */
function codeOf(tree: ts.SourceFile): string {
  const words: string[] = [];
  visit(tree);
  return words.join('');

  function visit(node: ts.Node): void {
    if (ts.isStringLiteralLike(node) || ts.isJSDoc(node)) return;
    if (node.getChildCount() === 0) words.push(node.getText());
    node.getChildren().forEach(visit);
  }
}
