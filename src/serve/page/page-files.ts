import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { addRoutes } from '../app.ts';

/** The folder with the files of the page, next to the bundle. */
const folder = fileURLToPath(new URL('ui/', import.meta.url));

/** The paths that the script of the page shows. */
const places = [
  ...['/', '/login', '/runs', '/runs/:id', '/flows/:flow', '/flows/:flow/test'],
  ...['/integrations', '/settings/keys', '/settings/billing', '/settings/audit', '/docs'],
];

/** The content of the page's files. */
export interface PageFiles {
  readonly index: Buffer;
  readonly script: Buffer;
  readonly style: Buffer;
}

/** Reads the page's files. */
export function readPageFiles(): PageFiles {
  const read = (name: string) => readFileSync(`${folder}${name}`);
  return { index: read('index.html'), script: read('page.js'), style: read('page.css') };
}

/** Adds the files of the page. Every path of the page gets the same HTML file, whose script shows the path. The files need no session: the data do. */
export function addPageFiles(app: FastifyInstance, { index, script, style }: PageFiles): void {
  for (const place of places) addFile(app, place, 'text/html; charset=utf-8', index);
  addFile(app, '/assets/page.js', 'text/javascript; charset=utf-8', script);
  addFile(app, '/assets/page.css', 'text/css; charset=utf-8', style);
}

function addFile(app: FastifyInstance, path: string, type: string, content: Buffer): void {
  addRoutes(app, path, {
    GET: { schema: { hide: true } as object, handler: async (_, reply) => reply.type(type).send(content) },
  });
}
