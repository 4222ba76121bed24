import { randomUUID } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isMapping } from '../core/value/value.ts';
import { syncFolder } from './files/folder.ts';
import { homeFolder } from './files/home.ts';
import { fileError } from './files/naming-errors.ts';
import { createStateFile } from './files/state-file.ts';

/** Connections by name, as written in a flow. They name credentials and contain none. */
export type SavedConnections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Reads the saved connections. Throws an AutomateError (`credential`) if it cannot. */
export function readConnections(environment: NodeJS.ProcessEnv): SavedConnections {
  return createStateFile(pathIn(environment), areConnections).read() ?? {};
}

/** Changes the saved connections while no other process can. */
export async function changeConnections(
  environment: NodeJS.ProcessEnv,
  change: (saved: SavedConnections) => SavedConnections,
): Promise<void> {
  const path = pathIn(environment);
  const file = createStateFile(path, areConnections);
  await file.alone(async () => {
    const text = `${JSON.stringify(change(file.read() ?? {}), null, 2)}\n`;
    const Conf = await loadConf();
    // Conf leaves half a file on a full disk without an error; so it writes a draft, which replaces the file once it is whole.
    const draft = new Conf<Record<string, unknown>>({
      cwd: dirname(path),
      configName: `connections.${randomUUID()}`,
      configFileMode: 0o600,
      serialize: () => text,
    });
    try {
      draft.store = {};
      if (readFileSync(draft.path, 'utf8') !== text) throw new Error('no space left on device');
      // Undoes the umask.
      chmodSync(draft.path, 0o600);
      renameSync(draft.path, path);
      await syncFolder(path);
    } catch (error) {
      rmSync(draft.path, { force: true });
      throw fileError(path, 'written', error);
    }
  });
}

/**
 * Loads conf without its listeners for signals. They send each signal to the process a second time, so that it would cut off what the first
 * one lets finish.
 */
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
