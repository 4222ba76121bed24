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
 * Node 20 parses whole files, so this saves a quarter of the CPU time of `automate --version`.
 */
const packages = {
  undici: beside('undici-parts.mjs'),
  '@modelcontextprotocol/client': beside('mcp-parts.mjs'),
  bullmq: beside('queue-parts.mjs'),
  '@modelcontextprotocol/server': beside('mcp-server-parts.mjs'),
  'prom-client': beside('metrics-parts.mjs'),
  '@apidevtools/json-schema-ref-parser': '@apidevtools/json-schema-ref-parser',
  '@marcbachmann/cel-js': '@marcbachmann/cel-js',
  '@clack/prompts': '@clack/prompts',
  conf: beside('conf-parts.cjs'),
  ora: beside('ora-parts.cjs'),
  re2js: 're2js',
  saxes: 'saxes',
  yauzl: 'yauzl',
  yazl: 'yazl',
  yaml: 'yaml',
};
const names = { bullmq: 'queue' };
const fileOfPackage = (name) => names[name] ?? name.replace('@', '').replace('/', '-');
/** Packages that are in the bundle of another package. */
const together = { ioredis: 'bullmq', '@modelcontextprotocol/node': '@modelcontextprotocol/server' };

const src = beside('../src');

/** Returns the path in src of a module that the module in the folder `from` imports as `path`. */
const pathInSrc = (from, path) => relative(src, resolve(from, path));

/** Returns the names of the values that a module exports. */
async function exportsOf(module) {
  const options = { entryPoints: [resolve(src, module)], format: 'esm', outdir: 'dist', write: false, metafile: true };
  const { metafile } = await esbuild.build(options);
  return Object.values(metafile.outputs)[0].exports;
}

/**
 * Loads modules of src from another file of the program instead of bundling them, so that each exists only once. A module runs at its first
 * use. `otherFileOf` returns the name of the file of a module with this path in src, or undefined if the module is bundled.
 */
const fromOtherFiles = (otherFileOf) => ({
  name: 'from-other-files',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^\.\/[a-z]+\.cjs$/ }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /^\.{1,2}\// }, ({ resolveDir, path }) => {
      const module = pathInSrc(resolveDir, path);
      return otherFileOf(module) === undefined ? undefined : { path: module, namespace: 'other-file' };
    });
    onLoad({ filter: /.*/, namespace: 'other-file' }, async ({ path }) => {
      // Constants are read faster than properties of a module, which esbuild turns into getters.
      const loading = `const loaded = require('./${otherFileOf(path)}.cjs')[${JSON.stringify(path)}]();`;
      const constants = (await exportsOf(path)).map((name) => `export const ${name} = loaded.${name};`);
      return { contents: [loading, ...constants].join('\n'), resolveDir: src };
    });
  },
});

const inFilesOfTheirOwn = {
  name: 'in-files-of-their-own',
  setup: ({ onResolve }) => {
    for (const name of [...Object.keys(packages), ...Object.keys(together)]) {
      const path = `./${fileOfPackage(together[name] ?? name)}.cjs`;
      onResolve({ filter: new RegExp(`^${name}(/|$)`) }, () => ({ path, external: true }));
    }
    onResolve({ filter: /\/places\/data\/|^\.\/data\// }, () => ({ path: './lookups.cjs', external: true }));
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

/** The lookups throw the same class of error as the rest of the program. */
const failureModule = 'core/failure.ts';

// The lookups in embedded data, in a separate file because most flows have none.
await build({
  ...commonJs,
  entryPoints: [{ in: beside('lookups-parts.mjs'), out: 'lookups' }],
  plugins: [fromOtherFiles((module) => (module === failureModule ? 'main' : undefined))],
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

/** Returns all modules that the modules `starts` import, and the imports of those, as far as `follows` returns true. */
function reachableFrom(starts, follows) {
  const found = new Set();
  const visit = (module) => {
    if (found.has(module) || module.startsWith('..') || !importsOf.has(module)) return;
    found.add(module);
    for (const one of importsOf.get(module)) if (follows(one)) visit(one.module);
  };
  for (const start of starts) {
    if (!importsOf.has(start)) throw new Error(`${start} is not a module of the program`);
    visit(start);
  }
  return found;
}

const isStatic = ({ isDynamic }) => !isDynamic;
const server = 'serve/serve.ts';
const lateInMostRuns = ['credentials/credential-store.ts', 'credits/book.ts', 'credits/holds.ts', 'credits/run-ledger.ts'];
const workers = ['child', 'open-queue', 'open-workers', 'queue-status', 'queue-worker', 'queue-workers'];

/** The files of the program, and the modules that each needs. A module is in the first file that needs it. */
const files = {
  /** What every command needs to start. */
  main: reachableFrom(['cli/main.ts'], isStatic),
  /** What `automate run` needs, with what it loads late in most runs. The schema of test files is here, too, because zod is in this file. */
  run: reachableFrom(['cli/run/run.ts', ...lateInMostRuns, 'flow-tests/test-schema.ts'], isStatic),
  workers: reachableFrom(
    workers.map((name) => `workers/${name}.ts`),
    isStatic,
  ),
  commands: reachableFrom(['cli/main.ts'], ({ module }) => module !== server),
  serve: reachableFrom([server], () => true),
};
const fileOf = (module) => Object.keys(files).find((name) => files[name].has(module));

/** The modules that another file loads. */
const exported = new Set([failureModule, server]);
for (const [importer, imports] of importsOf) {
  for (const { module } of imports) if (fileOf(module) !== fileOf(importer)) exported.add(module);
}

for (const name of Object.keys(files)) {
  const modules = [...exported].filter((module) => fileOf(module) === name).sort();
  const exports = modules.map((module) => `exports[${JSON.stringify(module)}] = () => require(${JSON.stringify(`./${module}`)});`);
  if (name === 'main') exports.push("exports.main = require('./cli/main.ts').main;");
  await build({
    ...bundle,
    stdin: { contents: exports.join('\n'), resolveDir: src },
    outdir: undefined,
    outfile: `dist/${name}.cjs`,
    plugins: [fromOtherFiles((module) => (fileOf(module) === name ? undefined : fileOf(module))), inFilesOfTheirOwn],
  });
}

writeThirdParty('dist/third-party.txt', bundled);
