import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const src = fileURLToPath(new URL('../src/', import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));

/** The top-level folders of src (layers). Each layer may import from itself and from the layers listed with it. */
const floors: Readonly<Record<string, readonly string[]>> = {
  core: [],
  flow: ['core'],
  engine: ['core'],
  nodes: ['core'],
  io: ['core'],
  app: ['core', 'flow', 'engine', 'nodes', 'io'],
  cli: ['core', 'flow', 'engine', 'nodes', 'io', 'app'],
  serve: ['core', 'flow', 'engine', 'nodes', 'io', 'app'],
  ui: [],
};

/** The allowed exceptions: the command that starts the server, and the module that renders a report. */
const doors = ['cli/commands.ts: serve/serve.ts', 'app/report/report-file.ts: ui/report/report.tsx'];

/** The layers that may access the operating system and the network. */
const outer = ['io', 'app', 'cli', 'serve'];

/** The source files, with their imports (including type imports) and syntax trees. */
const sources = files.map((name) => {
  const text = readFileSync(join(src, name), 'utf8');
  const tree = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const imports = importsOf(tree);
  return {
    name,
    tree,
    values: imports.filter(({ isType, path }) => !isType && isOurs(path)).map(({ path }) => toOurs(name, path)),
    floor: name.split('/')[0] as string,
    ours: imports.filter(({ path }) => isOurs(path)).map(({ path }) => toOurs(name, path)),
    packages: imports.map(({ path }) => path).filter((path) => !path.startsWith('.')),
  };
});

/** True for a path that leads to a source file of this project. package.json does not count. */
function isOurs(path: string): boolean {
  return /^\..*\.tsx?$/.test(path);
}

function floorOf(path: string): string {
  return path.split('/')[0] as string;
}

function toOurs(name: string, path: string): string {
  return relative(src, join(src, dirname(name), path));
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
function breaches<Breach>(find: (source: (typeof sources)[number]) => readonly Breach[]): string[] {
  return sources.flatMap((source) => find(source).map((breach) => `${source.name}: ${breach}`));
}

const isBuiltin = (path: string) => path.startsWith('node:') || builtinModules.includes(path);

describe('the layers (the top-level folders of src)', () => {
  test('are exactly the folders in the layering rules', () => {
    expect([...new Set(sources.map(({ floor }) => floor))].sort()).toEqual(Object.keys(floors).sort());
  });

  test('import values only from lower layers', () => {
    const found = breaches(({ floor, values }) => values.filter((path) => ![floor, ...(floors[floor] ?? [])].includes(floorOf(path))));
    expect(found.sort()).toEqual([...doors].sort());
  });

  test('import types only from lower layers or from ui', () => {
    const isAllowed = (floor: string, path: string) =>
      floor === 'ui' || path === 'ui/run/run-view.ts' || [floor, ...(floors[floor] ?? [])].includes(floorOf(path));
    const found = breaches(({ name, floor, ours }) =>
      ours.filter((path) => !isAllowed(floor, path) && !doors.includes(`${name}: ${path}`)),
    );
    expect(found).toEqual([]);
  });

  test('import types, but no values, into ui', () => {
    expect(breaches(({ floor, values }) => (floor === 'ui' ? values.filter((path) => !path.startsWith('ui/')) : []))).toEqual([]);
  });

  test('import no Node.js modules, except in io, app, cli and serve', () => {
    expect(breaches(({ floor, packages }) => (outer.includes(floor) ? [] : packages.filter(isBuiltin)))).toEqual([]);
  });

  test.each([
    [/^yaml$/, 'flow'],
    [/^(?:ky|undici|conf|env-paths|csv-|saxes|@?libsql|@napi-rs\/keyring|@modelcontextprotocol|prom-client)/, 'io'],
    [/^(?:commander|ora)$/, 'cli'],
    [/^preact/, 'ui'],
    [/^@?fastify/, 'serve'],
  ])('import packages that match %s only in %s', (library, home) => {
    expect(breaches(({ floor, packages }) => (floor === home ? [] : packages.filter((path) => library.test(path))))).toEqual([]);
  });

  test('import Redis clients only in io/queue', () => {
    const others = ({ name, packages }: (typeof sources)[number]) => (name.startsWith('io/queue/') ? [] : packages);
    expect(breaches((source) => others(source).filter((path) => /^(?:bullmq|ioredis)/.test(path)))).toEqual([]);
  });

  test('use the clock, the network, the process and timers only in io, app, cli, serve and the browser code', () => {
    const world = /\b(?:fetch\(|Date\.now|console\.|process\.|setTimeout\(|setInterval\(|performance\.|Math\.random|Buffer\b)/g;
    const isOuter = (name: string, floor: string) => outer.includes(floor) || name.startsWith('ui/page/');
    expect(breaches(({ name, floor, tree }) => (isOuter(name, floor) ? [] : (codeOf(tree).match(world) ?? [])))).toEqual([]);
  });
});

test('messages outside cli and serve mention no command-line option', () => {
  const below = ['core', 'flow', 'engine', 'nodes', 'io', 'app'];
  const options = (tree: ts.SourceFile) => textsOf(tree).filter((text) => /(?:^|[\s("'`])--[a-z]/.test(text));
  expect(breaches(({ floor, tree }) => (below.includes(floor) ? options(tree) : []))).toEqual([]);
});

describe('the size limits of the source code', () => {
  const maxLines = 60;
  const maxDepth = 3;
  const maxFiles = 15;
  const functions = sources.flatMap(({ name, tree }) =>
    functionsOf(tree).map((found) => ({ ...found, file: name, where: `${name} ${found.name}` })),
  );

  test('allow at most 60 lines in a function', () => {
    expect(functions.filter(({ lines }) => lines > maxLines).map(({ where }) => where)).toEqual([]);
  });

  test('allow functions to be nested at most three deep', () => {
    expect(functions.filter(({ depth }) => depth > maxDepth).map(({ where }) => where)).toEqual([]);
  });

  test('allow at most 15 function names that three or more files define', () => {
    const declared = new Set(sources.flatMap(({ tree }) => tree.statements.filter(ts.isFunctionDeclaration).map(({ name }) => name?.text)));
    const places = new Map<string, Set<string>>();
    for (const { name, file } of functions) if (declared.has(name)) places.set(name, (places.get(name) ?? new Set()).add(file));
    expect([...places].filter(([, { size }]) => size >= 3).length).toBeLessThanOrEqual(15);
  });

  test('allow at most 15 files in a folder', () => {
    const counts = new Map<string, number>();
    for (const { name } of sources) counts.set(dirname(name), (counts.get(dirname(name)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > maxFiles).map(([folder]) => folder)).toEqual([]);
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

test('every export has a doc comment', () => {
  const isDocumented = (statement: ts.Statement) => ts.isExportDeclaration(statement) || ts.getJSDocCommentsAndTags(statement).length > 0;
  expect(
    breaches(({ tree }) =>
      exportsOf(tree)
        .filter((statement) => !isDocumented(statement))
        .map((statement) => statement.getText().split('\n')[0]),
    ),
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
