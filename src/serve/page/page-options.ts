import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { counted, formatCount } from '../../core/text/number.ts';
import { addRoute } from '../app.ts';
import type { ServeOptions } from '../serve-lock.ts';
import type { Actor } from '../store/audit.ts';

export interface PageOptions {
  /** The folder with the flows, as it was written on the command line. */
  readonly folder: string;
  readonly home: string;
  /** True if the web page may save maps to flow files. */
  readonly edit: boolean;
  /** Text with its unit; null for no limit. */
  readonly limits: readonly { readonly name: string; readonly value: string | null }[];
  readonly files: PageFiles;
}

/** The user of the web page, as named in the audit log. */
export function actorOf({ ip: address }: FastifyRequest): Actor {
  return { who: 'session', address };
}

export function pageOptions(folder: string, home: string, options: ServeOptions): PageOptions {
  return { folder, home, edit: options.edit ?? false, limits: shownLimits(options), files: readPageFiles() };
}

function shownLimits({ maxRuns, maxQueue, maxUpload, maxDisk, keep }: ServeOptions): PageOptions['limits'] {
  return [
    { name: 'runs at once', value: formatCount(maxRuns) },
    { name: 'waiting runs', value: formatCount(maxQueue) },
    { name: 'size of a body', value: sizeText(maxUpload) },
    { name: 'disk space of all runs', value: sizeText(maxDisk) },
    { name: 'ended runs are kept for', value: counted(Math.round(keep / 86_400_000), 'day') },
  ];
}

function sizeText(bytes: number): string {
  return bytes >= 1e9 ? `${formatCount(bytes / 1e9)} GB` : `${formatCount(bytes / 1e6)} MB`;
}

/** Path of the folder with the files of the web page, which is next to the bundled program. */
const folder = fileURLToPath(new URL('ui/', import.meta.url));

/** The script in the browser decides what to show for each path. */
const places = [
  ...['/', '/login', '/runs', '/runs/:id', '/flows/:flow', '/flows/:flow/test'],
  ...['/integrations', '/settings/keys', '/settings/billing', '/settings/audit', '/docs'],
];

interface PageFiles {
  readonly index: Buffer;
  readonly script: Buffer;
  readonly style: Buffer;
}

function readPageFiles(): PageFiles {
  const read = (name: string) => readFileSync(`${folder}${name}`);
  return { index: read('index.html'), script: read('page.js'), style: read('page.css') };
}

/** Every path gets the same HTML file, whose script shows what belongs to it. Only the data needs a session, not the files. */
export function addPageFiles(app: FastifyInstance, { index, script, style }: PageFiles): void {
  for (const place of places) addFile(app, place, 'text/html; charset=utf-8', index);
  addFile(app, '/assets/page.js', 'text/javascript; charset=utf-8', script);
  addFile(app, '/assets/page.css', 'text/css; charset=utf-8', style);
}

function addFile(app: FastifyInstance, path: string, type: string, content: Buffer): void {
  addRoute(app, 'GET', path, { schema: { hide: true } as object, handler: async (_, reply) => reply.type(type).send(content) });
}
