import type { FastifyRequest } from 'fastify';
import { counted, formatCount } from '../../core/text/number.ts';
import type { ServeOptions } from '../serve-options.ts';
import type { Actor } from '../store/audit.ts';
import { type PageFiles, readPageFiles } from './page-files.ts';

/** Settings of the server that the web page shows or follows. */
export interface PageOptions {
  /** The folder with the flows, as it was written on the command line. */
  readonly folder: string;
  readonly home: string;
  /** True if the web page may save maps to flow files. */
  readonly edit: boolean;
  /** The limits that apply to runs and requests, each as text with its unit; null for no limit. */
  readonly limits: readonly { readonly name: string; readonly value: string | null }[];
  readonly files: PageFiles;
}

/** Returns the user of the web page who sent a request, as the audit log names them. */
export function actorOf({ ip: address }: FastifyRequest): Actor {
  return { who: 'session', address };
}

/** Returns the settings for the web page, from the options of the command. */
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
