import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { statOf } from '../../files/stat.ts';
import { failedListPath } from './failed-list.ts';
import { errorsFileKey } from './identity.ts';
import { journalPath, readIdentity } from './journal.ts';

/**
 * Finds a different output whose run uses this errors file. Resolves to that output's path; undefined if there is none. Only runs that are
 * unfinished or have failed records count. `errors` and `out` are absolute paths, and only their folders are searched.
 */
export async function ownerOfErrors(errors: string, out: string | undefined): Promise<string | undefined> {
  for (const folder of new Set([dirname(errors), dirname(out ?? errors)])) {
    const owner = await ownerIn(folder, errors, out);
    if (owner !== undefined) return owner;
  }
  return undefined;
}

async function ownerIn(folder: string, errors: string, out: string | undefined): Promise<string | undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const name = entry.isFile() ? outputOf(folder, entry.name) : undefined;
    if (name === undefined || join(folder, name) === out) continue;
    const identity = await readIdentity(join(folder, entry.name));
    if (identity?.[errorsFileKey] === errors) return join(folder, name);
  }
  return undefined;
}

/**
 * If a file is a journal or a list of failed records, returns the name of its output file. Otherwise returns undefined. A list of failed
 * records is ignored if the output file no longer exists.
 */
function outputOf(folder: string, name: string): string | undefined {
  const [journal, list] = [journalPath(''), failedListPath('')];
  if (name.endsWith(journal)) return name.slice(0, -journal.length);
  const out = name.endsWith(list) ? name.slice(0, -list.length) : '';
  return out !== '' && statOf(join(folder, out)) ? out : undefined;
}
