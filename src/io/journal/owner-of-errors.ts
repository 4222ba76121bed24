import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { statOf } from '../files/stat.ts';
import { failedListPath } from './failed-list.ts';
import { errorsFileKey } from './identity.ts';
import { journalPath, readIdentity } from './journal.ts';

/**
 * The path of the output that an errors file belongs to, other than `out`: its unfinished run or its list of failed records names the
 * errors file. Absent if there is no such output. Only outputs in the folders of the errors file and of `out` are found. Both paths are full.
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

/** The name of the output to which a journal or a list belongs; absent for other files. A list without its output belongs to no output. */
function outputOf(folder: string, name: string): string | undefined {
  const [journal, list] = [journalPath(''), failedListPath('')];
  if (name.endsWith(journal)) return name.slice(0, -journal.length);
  const out = name.endsWith(list) ? name.slice(0, -list.length) : '';
  return out !== '' && statOf(join(folder, out)) ? out : undefined;
}
