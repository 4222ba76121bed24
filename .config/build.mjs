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

rmSync('dist', { recursive: true, force: true });

await build({
  entryPoints: ['src/cli/main.ts'],
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
  plugins: [undiciParts],
  inject: [beside('globals-of-ky.mjs')],
  define: {
    'globalThis.Request': 'RequestOfKy',
    'globalThis.Headers': 'HeadersOfKy',
    'globalThis.AbortController': 'AbortControllerOfKy',
    'globalThis.Response': 'undefined',
    'globalThis.FormData': 'undefined',
    'globalThis.ReadableStream': 'undefined',
  },
  // CommonJS packages inside the bundle ask for Node's own modules by require.
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
});
