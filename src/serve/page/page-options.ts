import type { FastifyRequest } from 'fastify';
import { counted, formatCount } from '../../core/text/number.ts';
import type { Actor } from '../../io/server/audit.ts';
import type { ServeOptions } from '../serve-options.ts';
import { type PageFiles, readPageFiles } from './page-files.ts';

/** The facts about the server that the page shows. */
export interface PageOptions {
  /** The folder of the flows, as the command names it. */
  readonly folder: string;
  readonly home: string;
  /** True if maps may be saved into flows. */
  readonly edit: boolean;
  /** The limits in force, each value with its unit; null for no limit. */
  readonly limits: readonly { readonly name: string; readonly value: string | null }[];
  readonly files: PageFiles;
}

/** The person whose browser sends a request. */
export function actorOf({ ip: address }: FastifyRequest): Actor {
  return { who: 'session', address };
}

/** The settings of the page, from the options of the command. */
export function pageOptions(folder: string, home: string, options: ServeOptions): PageOptions {
  return { folder, home, edit: options.edit ?? false, limits: shownLimits(options), files: readPageFiles() };
}

function shownLimits({ maxRuns, maxQueue, maxUpload, maxDisk, keep }: ServeOptions): PageOptions['limits'] {
  return [
    { name: 'runs at once', value: formatCount(maxRuns) },
    { name: 'waiting runs', value: formatCount(maxQueue) },
    { name: 'size of a body', value: sizeText(maxUpload) },
    { name: 'space of all runs', value: sizeText(maxDisk) },
    { name: 'ended runs are kept for', value: counted(Math.round(keep / 86_400_000), 'day') },
  ];
}

function sizeText(bytes: number): string {
  return bytes >= 1e9 ? `${formatCount(bytes / 1e9)} GB` : `${formatCount(bytes / 1e6)} MB`;
}
