import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { addRoutes } from '../app.ts';

/** Path of the folder with the files of the web page, which is next to the bundled program. */
const folder = fileURLToPath(new URL('ui/', import.meta.url));

/** The URL paths of the web page. The script in the browser decides what to show for each path. */
const places = [
  ...['/', '/login', '/runs', '/runs/:id', '/flows/:flow', '/flows/:flow/test'],
  ...['/integrations', '/settings/keys', '/settings/billing', '/settings/audit', '/docs'],
];

/** The contents of the files of the web page. */
export interface PageFiles {
  readonly index: Buffer;
  readonly script: Buffer;
  readonly style: Buffer;
}

/** Reads the files of the web page. */
export function readPageFiles(): PageFiles {
  const read = (name: string) => readFileSync(`${folder}${name}`);
  return { index: read('index.html'), script: read('page.js'), style: read('page.css') };
}

/**
 * Adds the routes for the files of the web page. Every path of the page gets the same HTML file, whose script then shows what belongs to
 * the path. A session is needed only for the data, not for the files.
 */
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
