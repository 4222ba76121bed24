import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorsFileKey, journalPath, readIdentity } from './journal.ts';

/**
 * The name of the output that an errors file belongs to, other than `out`: its unfinished run names that file. Absent if there is none.
 * Only outputs in the folder of the errors file are found. Both paths are full.
 */
export async function ownerOfErrors(errors: string, out: string | undefined): Promise<string | undefined> {
  const folder = dirname(errors);
  const ending = journalPath('');
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith(ending)) continue;
    const name = entry.name.slice(0, -ending.length);
    if (join(folder, name) === out) continue;
    const identity = await readIdentity(join(folder, entry.name));
    if (identity?.[errorsFileKey] === errors) return name;
  }
  return undefined;
}
