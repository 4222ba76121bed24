import { randomUUID } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isMapping } from '../core/value/value.ts';
import { syncFolder } from '../files/folder.ts';
import { homeFolder, homeIfAny } from '../files/home.ts';
import { fileError } from '../files/naming-errors.ts';
import { createStateFile } from '../files/state-file.ts';

/** Keyed by name, in the same form as in a flow. They contain the names of credentials, but no secrets. */
export type SavedConnections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Throws an AutomateError (`credential`) if the file cannot be read. */
export function readConnections(environment: NodeJS.ProcessEnv): SavedConnections {
  if (homeIfAny(environment) === undefined) return {};
  return createStateFile(pathIn(environment), areConnections).read() ?? {};
}

/** A lock keeps other processes from changing the connections at the same time. */
export async function changeConnections(
  environment: NodeJS.ProcessEnv,
  change: (saved: SavedConnections) => SavedConnections,
): Promise<void> {
  const path = pathIn(environment);
  const file = createStateFile(path, areConnections);
  await file.alone(async () => {
    const text = `${JSON.stringify(change(file.read() ?? {}), null, 2)}\n`;
    const Conf = await loadConf();
    // If the disk is full, Conf (the library that writes the file) leaves an incomplete file without an error. So Conf writes a draft here,
    // which replaces the file only if the draft is complete.
    const draft = new Conf<Record<string, unknown>>({
      cwd: dirname(path),
      configName: `connections.${randomUUID()}`,
      configFileMode: 0o600,
      serialize: () => text,
    });
    try {
      draft.store = {};
      if (readFileSync(draft.path, 'utf8') !== text) throw new Error('no space left on device');
      // Sets the permissions explicitly, because the process's umask may have changed them.
      chmodSync(draft.path, 0o600);
      renameSync(draft.path, path);
      await syncFolder(path);
    } catch (error) {
      rmSync(draft.path, { force: true });
      throw fileError(path, 'written', error);
    }
  });
}

/** Removes Conf's signal listeners, which send each signal twice. The second one would abort a run that the first one lets finish. */
async function loadConf(): Promise<typeof import('conf').default> {
  const before = new Map(process.eventNames().map((name) => [name, process.listeners(name as NodeJS.Signals)]));
  const { default: Conf } = await import('conf');
  for (const name of process.eventNames() as NodeJS.Signals[])
    for (const listener of process.listeners(name)) if (!before.get(name)?.includes(listener)) process.off(name, listener);
  return Conf;
}

function pathIn(environment: NodeJS.ProcessEnv): string {
  return join(homeFolder(environment), 'connections.json');
}

function areConnections(found: unknown): found is SavedConnections {
  return isMapping(found) && Object.values(found).every(isMapping);
}
