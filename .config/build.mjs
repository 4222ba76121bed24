// Bundles src into dist: what --help needs in one file, everything else in files that are loaded when they are needed.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

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
  inject: ['.config/globals-of-ky.mjs'],
  define: { 'globalThis.Request': 'RequestOfKy', 'globalThis.AbortController': 'AbortControllerOfKy' },
  // CommonJS packages inside the bundle ask for Node's own modules by require.
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
});
