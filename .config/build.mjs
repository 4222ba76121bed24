// Bundles src into dist, next to the embedded data.
import { copyFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { writeThirdParty } from './third-party.mjs';

const external = [
  // These packages have native modules, which cannot be bundled.
  ...['@napi-rs/keyring', 'libsql'],
  // Optional parts of bundled packages: the native part of msgpackr, and databases other than Redis.
  ...['msgpackr-extract', 'pg', '@valkey/valkey-glide'],
];

const forNode = {
  platform: 'node',
  external,
  resolve: { alias: { undici$: fileURLToPath(new URL('undici-parts.mjs', import.meta.url)) } },
  moduleTypes: { '.css': 'text' },
  transform: {
    target: 'node20.18',
    // Otherwise, msgpackr would load a native module if one happens to be installed.
    define: { 'process.env.MSGPACKR_NATIVE_ACCELERATION_DISABLED': '"true"' },
  },
};

// Names are kept, so that the stack trace of a bug can be read.
const minify = { compress: true, mangle: false, codegen: { removeWhitespace: true } };

/**
 * The program is CommonJS, because ES modules take longer to load, and Node 20 cannot keep their compiled code. A file that is loaded takes
 * about 0.3 ms, so most commands find what they need in these files. A module is in the first file that needs it.
 */
const files = [
  { name: 'start', test: /\/src\/cli\/main\.ts$/ },
  { name: (path, context) => (isCommand(context.getModuleInfo(path)) ? 'commands' : null), debugName: 'commands' },
  { name: 'flow', test: /\/src\/(?:cli\/validate-command|core\/action|core\/answer\/link|nodes\/inner)\.ts$/ },
  { name: 'run', test: /\/src\/(?:cli\/run\/run-command|credits\/run-ledger)\.ts$/ },
  { name: 'http', test: /\/src\/(?:nodes\/http\/http|credits\/book|credits\/holds)\.ts$/ },
];

/** True for the options and the help of a command. */
const isCommand = ({ dynamicImporters }) => dynamicImporters.some((path) => path.endsWith('/src/cli/commands.ts'));

/** The package that a module belongs to, or undefined for a module of src. */
const packageOf = (path) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];

/** Bundles the modules that `input` names, and returns the paths of the modules that are in the result. */
async function build(input, output) {
  const bundle = await rolldown({ checks: { ineffectiveDynamicImport: false }, ...input });
  const { output: chunks } = await bundle.write({ dir: 'dist', minify, ...output });
  await bundle.close();
  return chunks.flatMap(({ modules = {} }) => Object.keys(modules).filter((path) => modules[path].renderedLength > 0));
}

rmSync('dist', { recursive: true, force: true });

// `npm run data` builds these files.
cpSync('src/places/data/built', 'dist/data', { recursive: true });

const program = await build(
  { ...forNode, input: { main: 'src/cli/main.ts' } },
  {
    format: 'cjs',
    dynamicImportInCjs: false,
    // A server that runs while the program is updated loads files of the new version, where one letter would stand for something else.
    minifyInternalExports: false,
    entryFileNames: '[name].cjs',
    chunkFileNames: ({ moduleIds }) => `${packageOf(moduleIds.at(-1))?.replace('/', '-') ?? '[name]'}.cjs`,
    codeSplitting: { groups: files },
  },
);

// The separate process that reads and writes the keychain.
await build({ ...forNode, input: { 'keychain-process': 'src/credentials/keychain-process.ts' } }, { entryFileNames: '[name].js' });

// The page of the server.
const page = await build(
  { platform: 'browser', input: 'src/ui/page/page.tsx' },
  { dir: 'dist/ui', entryFileNames: 'page.js', minify: true },
);
writeFileSync('dist/ui/page.css', ['theme.css', 'page/page.css'].map((name) => readFileSync(`src/ui/${name}`, 'utf8')).join('\n'));
copyFileSync('src/ui/page/index.html', 'dist/ui/index.html');

writeThirdParty('dist/third-party.txt', [...program, ...page]);
