import type { Problem } from '../core/failure.ts';
import type { HttpConnection } from '../core/node.ts';
import { referencedFields } from '../core/template.ts';
import { urlTemplate } from '../core/url.ts';
import { checked } from './issues.ts';
import { connectionSchema } from './schema.ts';
import type { Source } from './source.ts';

/** The flow's connections by name; `undefined` for one whose problems were reported. */
export function compileConnections(
  written: Readonly<Record<string, unknown>>,
  where: { readonly source: Source; readonly problems: Problem[]; readonly allowHttp: boolean },
): ReadonlyMap<string, HttpConnection | undefined> {
  return new Map(Object.entries(written).map(([name, options]) => [name, compileConnection(name, options, where)]));
}

function compileConnection(name: string, written: unknown, where: Parameters<typeof compileConnections>[1]): HttpConnection | undefined {
  const at = ['connections', name];
  const options = checked(connectionSchema, written, { ...where, at });
  if (!options) return undefined;
  const allowHttp = where.allowHttp || options.allow_http;
  try {
    if (urlTemplate(options.base_url, { allowHttp }).origin === undefined) throw new Error('a base_url cannot have references');
  } catch (error) {
    where.problems.push(where.source.at([...at, 'base_url'], (error as Error).message));
    return undefined;
  }
  return {
    name,
    baseUrl: options.base_url,
    auth: options.auth ?? undefined,
    headers: options.headers ?? {},
    intervalMs: options.rate,
    concurrency: options.concurrency,
    allowHttp,
  };
}
