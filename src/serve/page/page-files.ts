import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { addRoutes } from '../app.ts';

/** The files of the page, beside the bundle. */
const folder = fileURLToPath(new URL('ui/', import.meta.url));

/** The paths that the page shows by itself. */
const places = [
  ...['/', '/login', '/runs', '/runs/:id', '/flows/:flow', '/flows/:flow/test'],
  ...['/integrations', '/settings/keys', '/settings/billing', '/settings/audit', '/docs'],
];

/** Adds the page: every path of it is answered with the same file, and its script shows the place. It is open to all: the data are not. */
export function addPageFiles(app: FastifyInstance): void {
  const files = { index: readAsset('index.html'), script: readAsset('page.js'), style: readAsset('page.css') };
  for (const place of places) addFile(app, place, 'text/html; charset=utf-8', files.index);
  addFile(app, '/assets/page.js', 'text/javascript; charset=utf-8', files.script);
  addFile(app, '/assets/page.css', 'text/css; charset=utf-8', files.style);
}

function readAsset(name: string): Buffer {
  return readFileSync(`${folder}${name}`);
}

function addFile(app: FastifyInstance, path: string, type: string, content: Buffer): void {
  addRoutes(app, path, {
    GET: { schema: { hide: true } as object, handler: async (_, reply) => reply.type(type).send(content) },
  });
}
