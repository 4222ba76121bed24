import { answeringServer } from './answering-server.ts';
import { type Workplace, workplace } from './cli.ts';

/** A server whose answers have a name and two rows, unless their record is failing. `onCall` sees each call. */
export async function failingServer() {
  const failing = new Set<string>();
  const calls: string[] = [];
  const hooks: { onCall?: ((id: string) => void) | undefined } = {};
  const server = await answeringServer(({ path }) => {
    const id = path.slice(1);
    calls.push(id);
    hooks.onCall?.(id);
    return failing.has(id) ? { status: 404 } : { body: { name: `name ${id}`, rows: [{ v: `${id}, a` }, { v: `${id} "é"\n` }] } };
  });
  return Object.assign(hooks, server, { failing, calls });
}

/** The files of two places: in the first no record fails, in the second the failures are retried. */
export interface Pair {
  readonly whole: Workplace;
  readonly place: Workplace;
}

/** Two places with the same files. */
export async function twoPlaces(files: Record<string, string | Buffer>): Promise<Pair> {
  return { whole: await workplace(files), place: await workplace(files) };
}
