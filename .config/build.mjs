// Bundles src into dist, beside the data that belong to it.
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import esbuild from 'esbuild';
import { buildData } from './build-data.mjs';
import { packagesIn, writeThirdParty } from './third-party.mjs';

/** The folders of the packages in the bundles. */
const bundled = [];

/** Makes bundles, and notes the packages in them. */
async function build(options) {
  const result = await esbuild.build({ ...options, metafile: true });
  if (options.write !== false) bundled.push(...packagesIn(result.metafile));
  return result;
}

/** Packages that bundled ones name and do without: the native part of msgpackr, and databases other than Redis. */
const absent = ['msgpackr-extract', 'pg', '@valkey/valkey-glide'];

const shared = {
  // They come with native modules.
  external: ['@napi-rs/keyring', 'libsql', ...absent],
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20.18',
  minifySyntax: true,
  minifyWhitespace: true,
  logLevel: 'warning',
};

/** Path of a file beside this one. */
const beside = (name) => fileURLToPath(new URL(name, import.meta.url));

/**
 * Packages that many commands do without. Each gets a file of its own, which its first use loads: Node 20 parses all of a file, and
 * this saves a quarter of the CPU of `automate --version`. Each is given with the module to bundle.
 */
const packages = {
  undici: beside('undici-parts.mjs'),
  '@modelcontextprotocol/client': beside('mcp-parts.mjs'),
  bullmq: beside('queue-parts.mjs'),
  '@modelcontextprotocol/server': beside('mcp-server-parts.mjs'),
  '@apidevtools/json-schema-ref-parser': '@apidevtools/json-schema-ref-parser',
  '@marcbachmann/cel-js': '@marcbachmann/cel-js',
  '@clack/prompts': '@clack/prompts',
  'fast-xml-parser': 'fast-xml-parser',
  re2js: 're2js',
  saxes: 'saxes',
  yauzl: 'yauzl',
  yazl: 'yazl',
  yaml: 'yaml',
};
const names = { bullmq: 'queue' };
const fileOf = (name) => names[name] ?? name.replace('@', '').replace('/', '-');
/** Packages that are in the file of another one. */
const together = { ioredis: 'bullmq', '@modelcontextprotocol/node': '@modelcontextprotocol/server' };

/** The server and the workers are files of their own: only commands that need them load them. */
const apart = {
  name: 'apart',
  setup: ({ onResolve }) => {
    const inFile = (filter, path) =>
      onResolve({ filter }, ({ kind }) => (kind === 'dynamic-import' ? { path, external: true } : undefined));
    inFile(/\/serve\/serve\.ts$/, './serve.cjs');
    inFile(/\/workers\/(child|open-workers|open-queue|queue-workers|queue-worker|queue-status)\.ts$/, './workers.cjs');
  },
};

const src = beside('../src');

/** Modules that several files take from shared.cjs, where each is there once. */
const sharedModules = new Set();

/** Takes modules from shared.cjs in place of bundling them. Each runs when it is needed first. `isShared`: tells by the path in src. */
const fromShared = (isShared) => ({
  name: 'from-shared',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^\.\/shared\.cjs$/ }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /^\.{1,2}\// }, ({ resolveDir, path }) => {
      const name = relative(src, resolve(resolveDir, path));
      return isShared(name) ? { path: name, namespace: 'shared' } : undefined;
    });
    onLoad({ filter: /.*/, namespace: 'shared' }, ({ path }) => {
      sharedModules.add(path);
      return { contents: `module.exports = require('./shared.cjs')[${JSON.stringify(path)}]();`, resolveDir: src };
    });
  },
});

const inFilesOfTheirOwn = {
  name: 'in-files-of-their-own',
  setup: ({ onResolve }) => {
    for (const name of [...Object.keys(packages), ...Object.keys(together)]) {
      const path = `./${fileOf(together[name] ?? name)}.cjs`;
      onResolve({ filter: new RegExp(`^${name}(/|$)`) }, () => ({ path, external: true }));
    }
    onResolve({ filter: /\/io\/lookups\// }, () => ({ path: './lookups.cjs', external: true }));
    onResolve({ filter: /\/ui\/report\/report\.tsx$/ }, () => ({ path: './report.cjs', external: true }));
  },
};

// The data stay: they take seconds, and change only with their packages.
mkdirSync('dist', { recursive: true });
for (const name of readdirSync('dist')) if (name !== 'data') rmSync(`dist/${name}`, { recursive: true, force: true });

await buildData('dist/data');

// The process of its own that talks to the keychain.
await build({ ...shared, entryPoints: ['src/io/credentials/keychain-process.ts'], format: 'esm' });

const commonJs = { ...shared, format: 'cjs', outExtension: { '.js': '.cjs' }, legalComments: 'none' };

await build({
  ...commonJs,
  entryPoints: Object.entries(packages).map(([name, path]) => ({ in: path, out: fileOf(name) })),
  // msgpackr would load a native module that happens to be installed.
  define: { 'process.env.MSGPACKR_NATIVE_ACCELERATION_DISABLED': '"true"' },
});

// The lookups in embedded data: most flows have none.
await build({
  ...commonJs,
  entryPoints: [{ in: beside('lookups-parts.mjs'), out: 'lookups' }],
  plugins: [fromShared((name) => name === 'core/failure.ts')],
});

// The page of a run, for --report alone.
await build({ ...commonJs, entryPoints: [{ in: 'src/ui/report/report.tsx', out: 'report' }], loader: { '.css': 'text' } });

// The page of the server.
const browser = { bundle: true, minify: true, legalComments: 'none', logLevel: 'warning', target: 'es2022', format: 'esm' };
await build({ ...browser, entryPoints: ['src/ui/page/page.tsx', 'src/ui/page/page.css'], outdir: 'dist/ui' });
copyFileSync('src/ui/page/index.html', 'dist/ui/index.html');

// The command line, the server and the workers, each in one CommonJS file, and what several of them need in another. Node 24 with its
// compile cache runs one record in three quarters of the CPU that 90 ES modules need, Node 20 in less than half. Modules that are imported
// dynamically are compiled and run only when they are needed.
const bundle = {
  ...commonJs,
  // The packages' files are CommonJS, too: require loads them, and the cache of compiled code holds them.
  supported: { 'dynamic-import': false },
  define: { 'import.meta.url': 'urlOfBundle' },
  banner: { js: "const urlOfBundle = require('node:url').pathToFileURL(__filename).href;" },
};

/** Our modules in a file, by their paths in src. */
const modulesOf = async (entry) => {
  const { metafile } = await build({
    ...bundle,
    entryPoints: [entry],
    plugins: [apart, inFilesOfTheirOwn],
    write: false,
  });
  return Object.keys(metafile.inputs).flatMap((path) => (path.startsWith('src/') ? relative(src, path) : []));
};

const entries = [
  { in: 'src/cli/main.ts', out: 'main' },
  { in: 'src/serve/serve.ts', out: 'serve' },
  { in: beside('workers-parts.mjs'), out: 'workers' },
];
const modulesOfEntries = await Promise.all(entries.map((entry) => modulesOf(entry.in)));
const ofSeveral = new Set(
  modulesOfEntries.flatMap((names, index) =>
    names.filter((name) => modulesOfEntries.some((others, other) => other < index && others.includes(name))),
  ),
);

await build({
  ...bundle,
  entryPoints: entries,
  plugins: [apart, inFilesOfTheirOwn, fromShared((name) => ofSeveral.has(name))],
});

const modules = [...sharedModules].sort().map((name) => {
  return `exports[${JSON.stringify(name)}] = () => require(${JSON.stringify(`./${name}`)});`;
});
await build({
  ...bundle,
  stdin: { contents: modules.join('\n'), resolveDir: src },
  outdir: undefined,
  outfile: 'dist/shared.cjs',
  plugins: [inFilesOfTheirOwn],
});

writeThirdParty('dist/third-party.txt', bundled);
