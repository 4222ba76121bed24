import { chmodSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { homeFolder } from './home.ts';
import { createStateFile } from './state-file.ts';

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
    const changed = change(file.read() ?? {});
    const { default: Conf } = await import('conf');
    const conf = new Conf<Record<string, unknown>>({ cwd: dirname(path), configName: basename(path, '.json'), configFileMode: 0o600 });
    conf.store = changed;
    // An umask takes rights away from what a file is made with.
    chmodSync(path, 0o600);
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
