import { createMessages } from '../../app/messages.ts';
import { openCredentials } from '../../app/ports/credential-store.ts';
import { originOf } from '../../core/auth/auth-type.ts';
import { readConnections } from '../../io/connections.ts';
import { variableWith } from '../../io/credentials/environment.ts';
import { isAllowedHost } from '../../io/credentials/secret.ts';
import { Problem } from '../problem.ts';
import type { Server } from '../server.ts';

/** A credential that the page names, and the address that would get it. */
interface NamedCredential {
  readonly credential: string;
  readonly url: string;
  /** True if the page sends the secret itself. */
  readonly hasSecret: boolean;
}

/**
 * Throws a Problem (`bad-request`) for a credential that exists and was never meant for this address: whoever has a session could read its
 * secret there. It may go to the hosts that were given with it, and where a flow or a saved connection sends it already.
 */
export async function refuseOtherAddress({ credential, url, hasSecret }: NamedCredential, server: Server): Promise<void> {
  const origin = originOf(url);
  const store = openCredentials(server.shared.env, createMessages());
  const stored = store.list().find(({ name, env }) => name === credential && env === store.env);
  const isInVariable = variableWith(credential, process.env) !== undefined;
  if ((stored || isInVariable) && hasSecret)
    throw new Problem('bad-request', `there is a credential "${credential}" already: leave its secret out to use it, or take another name`);
  if (origin === undefined || !(stored || isInVariable)) return;
  if (!isInVariable && stored?.hosts && isAllowedHost(origin, stored.hosts)) return;
  if (originsOfConnections(credential).includes(origin)) return;
  const { flows } = await server.flows.list();
  const uses = flows.flatMap(({ plan }) => plan?.credentials ?? []).filter(({ name }) => name === credential);
  if (uses.some(({ origins }) => origins.includes(origin))) return;
  const ways = `use it where a flow or a connection uses it already, or allow the host: automate credentials set ${credential} --hosts ${new URL(origin).host}`;
  throw new Problem('bad-request', `the credential "${credential}" is not meant for ${origin}\n${ways}`);
}

/** The origins to which saved connections send a credential. */
function originsOfConnections(credential: string): (string | undefined)[] {
  return Object.values(readConnections(process.env))
    .filter(({ auth }) => [auth ?? []].flat().some((one) => (one as { credential?: unknown }).credential === credential))
    .map(({ base_url, url }) => originOf(String(base_url ?? url)));
}
