// Bundles src into dist: what --help needs in one file, everything else in files that are loaded when they are needed.
import { rmSync } from 'node:fs';
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

rmSync('dist', { recursive: true, force: true });

await build({
  // The keychain is asked in a process of its own.
  entryPoints: ['src/cli/main.ts', 'src/io/credentials/keychain-process.ts'],
  entryNames: '[name]',
  // They come with compiled code.
  external: ['@napi-rs/keyring', 'libsql'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [undiciParts, seldom],
  inject: [beside('globals-of-ky.mjs'), beside('silent-console.mjs')],
  define: {
    'globalThis.Request': 'RequestOfKy',
    'globalThis.Headers': 'HeadersOfKy',
    'globalThis.AbortController': 'AbortControllerOfKy',
    'globalThis.Response': 'undefined',
    'globalThis.FormData': 'undefined',
    'globalThis.ReadableStream': 'undefined',
    'console.warn': 'silentConsole',
    'console.debug': 'silentConsole',
  },
  // CommonJS packages inside the bundle ask for Node's own modules by require.
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
});
