// Bundles src into dist, and has V8 compile it.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const beside = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The transport alone asks for undici by name; the parts ask for its files. */
const undiciParts = {
  name: 'undici-parts',
  setup: ({ onResolve }) => onResolve({ filter: /^undici$/ }, () => ({ path: beside('undici-parts.mjs') })),
};

const lazyCel = beside('lazy-cel.mjs');

/** What takes long to load and is seldom needed, or never. */
const seldom = {
  name: 'seldom',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@marcbachmann\/cel-js$/ }, ({ importer }) => (importer === lazyCel ? undefined : { path: lazyCel }));
    // Commander starts other programs with it, of which there are none.
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      /commander/.test(importer) ? { path: 'nothing', namespace: 'seldom' } : undefined,
    );
    onLoad({ filter: /^nothing$/, namespace: 'seldom' }, () => ({ contents: 'module.exports = {};' }));
    // HTTP/2 is not asked for.
    onLoad({ filter: /undici[/\\]lib[/\\]dispatcher[/\\]client-h2\.js$/ }, () => ({ contents: 'module.exports = undefined;' }));
  },
};

const shared = {
  // They come with compiled code.
  external: ['@napi-rs/keyring', 'libsql'],
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20.18',
  minifySyntax: true,
  minifyWhitespace: true,
  logLevel: 'warning',
};

rmSync('dist', { recursive: true, force: true });

/** Everything that is loaded in the process of its own in which the keychain is asked. */
await build({ ...shared, entryPoints: ['src/io/credentials/keychain-process.ts'], format: 'esm' });

// One file, of which only what a command needs is run: V8 keeps its compiled code in one piece, too.
await build({
  ...shared,
  entryPoints: ['src/cli/main.ts'],
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  legalComments: 'none',
  plugins: [undiciParts, seldom],
  inject: [beside('silent-console.mjs')],
  define: {
    'console.warn': 'silentConsole',
    'console.debug': 'silentConsole',
    'import.meta.url': 'urlOfBundle',
  },
  banner: { js: "const urlOfBundle = require('node:url').pathToFileURL(__filename).href;" },
});

writeAsAscii('dist/main.cjs');
keepCompiled();

/** It is read without being decoded. What is left that is not ASCII stands in texts and regular expressions, which have escapes for it. */
function writeAsAscii(file) {
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** Has V8 compile what a run needs, by a run of the demo, and keeps that; without it the program starts more slowly. */
function keepCompiled() {
  const compiled = `dist/main.cjs.${process.version}-${process.platform}-${process.arch}`;
  const folder = mkdtempSync(join(tmpdir(), 'automate-build-'));
  const others = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('AUTOMATE_')));
  // The bundle is compiled where the compiled code is there already: an empty one is refused.
  writeFileSync(compiled, '');
  const { status, stderr } = spawnSync(process.execPath, ['--require', beside('keep-compiled.cjs'), 'bin/automate.js', 'demo'], {
    env: { ...others, NODE_OPTIONS: '', AUTOMATE_HOME: folder, TMPDIR: folder, COMPILED: compiled },
    encoding: 'utf8',
    timeout: 60_000,
  });
  rmSync(folder, { recursive: true, force: true });
  if (status === 0) return;
  rmSync(compiled, { force: true });
  process.stderr.write(`the program will start more slowly: its code could not be compiled beforehand\n${stderr}`);
}
