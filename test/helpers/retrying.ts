import { answeringServer } from './answering-server.ts';
import { type Workplace, workplace } from './cli.ts';

/**
 * Starts a server whose answers contain a name and two rows. Records that are marked as failing get an error. `onCall` is called
 * for each request.
 */
export async function failingServer() {
  const failing = new Set<string>();
  const calls: string[] = [];
  const hooks: { onCall?: (id: string) => void } = {};
  const server = await answeringServer(({ path }) => {
    const id = path.slice(1);
    calls.push(id);
    hooks.onCall?.(id);
    return failing.has(id) ? { status: 404 } : { body: { name: `name ${id}`, rows: [{ v: `${id}, a` }, { v: `${id} "é"\n` }] } };
  });
  return Object.assign(hooks, server, { failing, calls });
}

/** The files in two workplaces. In the first, no record fails. In the second, failed records are retried. */
export interface Pair {
  readonly whole: Workplace;
  readonly place: Workplace;
}

/** Creates two workplaces with the same files. */
export async function twoPlaces(files: Record<string, string | Buffer>): Promise<Pair> {
  return { whole: await workplace(files), place: await workplace(files) };
}
