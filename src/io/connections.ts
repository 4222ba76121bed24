import { randomUUID } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { syncFolder } from './files/folder.ts';
import { homeFolder } from './files/home.ts';
import { fileError } from './files/naming-errors.ts';
import { createStateFile } from './files/state-file.ts';

/** Connections by name, each as a flow would write it. They name credentials and hold none. */
export type SavedConnections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The connections that are saved. Throws an AutomateError (`credential`) when they cannot be read. */
export function savedConnections(environment: NodeJS.ProcessEnv): SavedConnections {
  return createStateFile(pathIn(environment), areConnections).read() ?? {};
}

/** Changes what is saved, while nobody else does. */
export async function changeConnections(
  environment: NodeJS.ProcessEnv,
  change: (saved: SavedConnections) => SavedConnections,
): Promise<void> {
  const path = pathIn(environment);
  const file = createStateFile(path, areConnections);
  await file.alone(async () => {
    const text = `${JSON.stringify(change(file.read() ?? {}), null, 2)}\n`;
    const { default: Conf } = await import('conf');
    // Where the disk fills up, it leaves half a file and says nothing: what is saved stays until the new file is whole.
    const draft = new Conf<Record<string, unknown>>({
      cwd: dirname(path),
      configName: `connections.${randomUUID()}`,
      configFileMode: 0o600,
      serialize: () => text,
    });
    try {
      draft.store = {};
      if (readFileSync(draft.path, 'utf8') !== text) throw new Error('no space left on device');
      // An umask takes rights away from what a file is made with.
      chmodSync(draft.path, 0o600);
      renameSync(draft.path, path);
      await syncFolder(path);
    } catch (error) {
      rmSync(draft.path, { force: true });
      throw fileError(path, 'written', error);
    }
  });
}

function pathIn(environment: NodeJS.ProcessEnv): string {
  return join(homeFolder(environment), 'connections.json');
}

function areConnections(found: unknown): found is SavedConnections {
  return isMapping(found) && Object.values(found).every(isMapping);
}

function isMapping(found: unknown): found is object {
  return typeof found === 'object' && found !== null && !Array.isArray(found);
}
