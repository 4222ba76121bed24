// Bundles src into dist, next to the embedded data.
import { copyFileSync, cpSync, rmSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import esbuild from 'esbuild';
import { packagesIn, writeThirdParty } from './third-party.mjs';

/** The folders of the packages in the bundles. */
const bundled = [];

/** Builds bundles, and collects the folders of the packages in them. */
async function build(options) {
  const result = await esbuild.build({ ...options, metafile: true });
  if (options.write !== false) bundled.push(...packagesIn(result.metafile));
  return result;
}

/** Optional dependencies of bundled packages that are not included: the native part of msgpackr, and databases other than Redis. */
const absent = ['msgpackr-extract', 'pg', '@valkey/valkey-glide'];

const shared = {
  // These packages have native modules, which cannot be bundled.
  external: ['@napi-rs/keyring', 'libsql', ...absent],
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20.18',
  minifySyntax: true,
  minifyWhitespace: true,
  logLevel: 'warning',
};

/** Returns the path of a file in the folder of this one. */
const beside = (name) => fileURLToPath(new URL(name, import.meta.url));

/**
 * Packages that few commands need, mapped to the module to bundle. Each gets its own file, which is loaded at its first use.
 * Node 20 parses whole files, about 17 ms for 1 MB.
 */
const packages = {
  ajv: beside('ajv-parts.mjs'),
  undici: beside('undici-parts.mjs'),
  '@modelcontextprotocol/client': beside('mcp-parts.mjs'),
  bullmq: beside('queue-parts.mjs'),
  '@modelcontextprotocol/server': beside('mcp-server-parts.mjs'),
  'prom-client': beside('metrics-parts.mjs'),
  '@apidevtools/json-schema-ref-parser': '@apidevtools/json-schema-ref-parser',
  '@marcbachmann/cel-js': '@marcbachmann/cel-js',
  '@clack/prompts': '@clack/prompts',
  commander: 'commander',
  conf: beside('conf-parts.cjs'),
  ora: beside('ora-parts.cjs'),
  re2js: 're2js',
  saxes: 'saxes',
  'temporal-polyfill': 'temporal-polyfill',
  yauzl: 'yauzl',
  yazl: 'yazl',
  yaml: 'yaml',
  zod: beside('zod-parts.mjs'),
};
/** Packages that are in the bundle of another package. */
const together = { 'ajv-formats': 'ajv', ioredis: 'bullmq', '@modelcontextprotocol/node': '@modelcontextprotocol/server' };
const fileOfPackage = (name) => `packages/${(together[name] ?? name).replace('@', '').replace('/', '-')}`;

const src = beside('../src');

/** Returns the path in src of a module that the module in the folder `from` imports as `path`. */
const pathInSrc = (from, path) => relative(src, resolve(from, path));

const exportsFound = new Map();

/** Returns the names of the values that a module exports. */
function exportsOf(module) {
  const options = { entryPoints: [resolve(src, module)], format: 'esm', outdir: 'dist', write: false, metafile: true };
  const find = async () => Object.values((await esbuild.build(options)).metafile.outputs)[0].exports;
  if (!exportsFound.has(module)) exportsFound.set(module, find());
  return exportsFound.get(module);
}

/**
 * Loads modules of src from another file of the program instead of bundling them, so that each exists only once. A module runs at its first
 * use. `otherFileOf` returns the name of the file of a module with this path in src, or undefined if the module is bundled.
 */
const fromOtherFiles = (otherFileOf) => ({
  name: 'from-other-files',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^\.\/[a-z-]+\.cjs$/ }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /^\.{1,2}\// }, ({ resolveDir, path }) => {
      const module = pathInSrc(resolveDir, path);
      return otherFileOf(module) === undefined ? undefined : { path: module, namespace: 'other-file' };
    });
    onLoad({ filter: /.*/, namespace: 'other-file' }, async ({ path }) => {
      // Constants are read faster than properties of a module, which esbuild turns into getters.
      const loading = `const loaded = require('./${otherFileOf(path)}.cjs').modules[${JSON.stringify(path)}];`;
      const constants = (await exportsOf(path)).map((name) => `export const ${name} = loaded.${name};`);
      return { contents: [loading, ...constants].join('\n'), resolveDir: src };
    });
  },
});

const inFilesOfTheirOwn = {
  name: 'in-files-of-their-own',
  setup: ({ onResolve }) => {
    for (const name of [...Object.keys(packages), ...Object.keys(together)]) {
      // Other packages use the core of zod, which is not in its file.
      const filter = new RegExp(`^${name}${name === 'zod' ? '$' : '(/|$)'}`);
      // The server's framework uses other parts of ajv, and bundles them.
      const isOwn = ({ importer }) => !name.startsWith('ajv') || importer.startsWith(src);
      onResolve({ filter }, (args) => (isOwn(args) ? { path: `./${fileOfPackage(name)}.cjs`, external: true } : undefined));
    }
    onResolve({ filter: /\/ui\/report\.tsx$/ }, () => ({ path: './report.cjs', external: true }));
  },
};

rmSync('dist', { recursive: true, force: true });

// `npm run data` builds these files.
cpSync('src/places/data/built', 'dist/data', { recursive: true });

// The separate process that reads and writes the keychain.
await build({ ...shared, entryPoints: ['src/credentials/keychain-process.ts'], format: 'esm' });

const commonJs = { ...shared, format: 'cjs', outExtension: { '.js': '.cjs' }, legalComments: 'none' };

await build({
  ...commonJs,
  entryPoints: Object.entries(packages).map(([name, path]) => ({ in: path, out: fileOfPackage(name) })),
  // Otherwise, msgpackr would load a native module if one happens to be installed.
  define: { 'process.env.MSGPACKR_NATIVE_ACCELERATION_DISABLED': '"true"' },
});

// The run page, used only for --report.
await build({ ...commonJs, entryPoints: [{ in: 'src/ui/report.tsx', out: 'report' }], loader: { '.css': 'text' } });

// The page of the server.
const browser = { bundle: true, minify: true, legalComments: 'none', logLevel: 'warning', target: 'es2022', format: 'esm' };
await build({ ...browser, entryPoints: ['src/ui/page/page.tsx', 'src/ui/page/page.css'], outdir: 'dist/ui' });
copyFileSync('src/ui/page/index.html', 'dist/ui/index.html');

// The program, as a few CommonJS files. With the compile cache, a run of one record needs three quarters of the CPU time of 90 ES modules
// on Node 24, and less than half on Node 20. Node 20 has no compile cache, and parses each file that it loads as a whole: 17 ms for 1 MB.
const bundle = {
  ...commonJs,
  // The files of the packages are CommonJS, too, because the compile cache contains only code that is loaded with require.
  supported: { 'dynamic-import': false },
  define: { 'import.meta.url': 'urlOfBundle' },
  banner: { js: "const urlOfBundle = require('node:url').pathToFileURL(__filename).href;" },
};

const { metafile } = await build({
  ...bundle,
  entryPoints: ['src/cli/main.ts'],
  plugins: [inFilesOfTheirOwn],
  write: false,
});

/** For each module from src, identified by its path there: the modules from src that it imports, and whether dynamically. */
const importsOf = new Map(
  Object.entries(metafile.inputs).map(([path, { imports }]) => [
    relative(src, path),
    imports.map((one) => ({ module: relative(src, one.path), isDynamic: one.kind === 'dynamic-import' })),
  ]),
);

/** The length of the source text of each module. */
const sizes = new Map(Object.entries(metafile.inputs).map(([path, { bytes }]) => [relative(src, path), bytes]));

/** Returns the modules `starts`, the modules that they import, and so on. Dynamic imports are not followed. */
function neededBy(starts) {
  const found = new Set();
  const visit = (module) => {
    if (found.has(module) || !importsOf.has(module) || module.startsWith('..')) return;
    found.add(module);
    for (const one of importsOf.get(module)) if (!one.isDynamic) visit(one.module);
  };
  for (const start of starts) {
    if (!importsOf.has(start)) throw new Error(`${start} is not a module of the program`);
    visit(start);
  }
  return found;
}

const loadedBy = (modules) =>
  modules.flatMap((module) => importsOf.get(module).flatMap((one) => (one.isDynamic && importsOf.has(one.module) ? one.module : [])));

/** What most commands need, in few files. A module is in the first file that needs it. */
const files = {
  /** What every command needs to start. */
  main: neededBy(['cli/main.ts']),
  /** The options and help of all commands. */
  commands: neededBy(loadedBy(['cli/commands.ts'])),
  /** What is needed to check a flow, and small modules that node types share. */
  flow: neededBy(['cli/validate-command.ts', 'core/action.ts', 'core/answer/link.ts', 'nodes/inner.ts']),
  run: neededBy(['cli/run/run-command.ts', 'credits/run-ledger.ts']),
  /** What a run needs to send requests. */
  http: neededBy(['nodes/http/http.ts', 'http/pools.ts', 'credits/book.ts', 'credits/holds.ts']),
};
const fileOf = (module) => Object.keys(files).find((name) => files[name].has(module));

/** The other modules, grouped by the dynamic imports that need them. */
const users = new Map();
for (const start of new Set(loadedBy([...importsOf.keys()]))) {
  for (const module of neededBy([start])) if (fileOf(module) === undefined) users.set(module, [...(users.get(module) ?? []), start]);
}
const groups = new Map();
for (const [module, starts] of users) groups.set(String(starts), [...(groups.get(String(starts)) ?? []), module]);

/** Smaller groups that several imports need are in one file, because each file that is loaded takes as long as parsing 20 kB. */
const leastBytes = 15_000;
const sizeOf = (modules) => modules.reduce((sum, module) => sum + sizes.get(module), 0);
for (const [starts, modules] of groups) {
  const isShared = starts.includes(',') && sizeOf(modules) < leastBytes;
  const name = isShared ? 'shared' : modules[0].replace(/\.\w+$/, '').replaceAll('/', '-');
  files[name] = new Set([...(files[name] ?? []), ...modules]);
}

/** The files whose modules are not all needed at once. Each module runs at its first use. In the other files, all modules run at once. */
const lazyFiles = ['commands', 'http', 'shared'];

/** The modules that another file loads. */
const exported = new Set();
for (const [importer, imports] of importsOf) {
  for (const { module } of imports) if (fileOf(module) !== fileOf(importer)) exported.add(module);
}

for (const name of Object.keys(files)) {
  const modules = [...exported].filter((module) => fileOf(module) === name).sort();
  const paths = modules.map((module) => JSON.stringify(`./${module}`));
  const isLazy = lazyFiles.includes(name);
  const members = modules.map((module, index) =>
    isLazy ? `get '${module}'() { return require(${paths[index]}); }` : `'${module}': module${index}`,
  );
  const contents = [
    ...(isLazy ? [] : paths.map((path, index) => `import * as module${index} from ${path};`)),
    `export const modules = { ${members.join(', ')} };`,
    ...(name === 'main' ? ["export { main } from './cli/main.ts';"] : []),
  ];
  await build({
    ...bundle,
    stdin: { contents: contents.join('\n'), resolveDir: src },
    outdir: undefined,
    outfile: `dist/${name}.cjs`,
    plugins: [fromOtherFiles((module) => (fileOf(module) === name ? undefined : fileOf(module))), inFilesOfTheirOwn],
  });
}

writeThirdParty('dist/third-party.txt', bundled);
