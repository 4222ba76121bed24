import { originOf } from '../../core/auth/auth-type.ts';
import { readConnections } from '../../credentials/connections-file.ts';
import { openCredentials } from '../../credentials/credential-store.ts';
import { variableWith } from '../../credentials/environment.ts';
import { createMessages } from '../../credentials/messages.ts';
import { isAllowedHost } from '../../credentials/secret.ts';
import { ProblemResponse } from '../problem.ts';
import type { Server } from '../server.ts';

/** A credential named by the web page, and the URL to which its secret would be sent. */
interface NamedCredential {
  readonly credential: string;
  readonly url: string;
  /** True if the web page also sends a new secret for the credential. */
  readonly hasSecret: boolean;
}

/**
 * Throws a Problem (`bad-request`) if an existing secret would be sent to a new origin, where any user of the web page could read it. The
 * secret may be sent to the hosts stored with it, and to origins to which a flow or a saved connection already sends it.
 */
export async function refuseOtherAddress({ credential, url, hasSecret }: NamedCredential, server: Server): Promise<void> {
  const origin = originOf(url);
  const store = openCredentials(server.shared.env, createMessages());
  const stored = store.list().find(({ name, env }) => name === credential && env === store.env);
  const isInVariable = variableWith(credential, process.env) !== undefined;
  if ((stored || isInVariable) && hasSecret)
    throw new ProblemResponse(
      'bad-request',
      `there is a credential "${credential}" already: leave its secret out to use it, or choose another name`,
    );
  if (origin === undefined || !(stored || isInVariable)) return;
  if (!isInVariable && stored?.hosts && isAllowedHost(origin, stored.hosts)) return;
  if (originsOfConnections(credential).includes(origin)) return;
  const { flows } = await server.flows.list();
  const uses = flows.flatMap(({ plan }) => plan?.credentials ?? []).filter(({ name }) => name === credential);
  if (uses.some(({ origins }) => origins.includes(origin))) return;
  const ways = `use it where a flow or a connection uses it already, or allow the host: automate credentials set ${credential} --hosts ${new URL(origin).host}`;
  throw new ProblemResponse('bad-request', `the credential "${credential}" is not meant for ${origin}\n${ways}`);
}

function originsOfConnections(credential: string): (string | undefined)[] {
  return Object.values(readConnections(process.env)).flatMap(({ auth, base_url, url }) => {
    const own = [auth ?? []].flat().filter((one) => (one as { credential?: unknown }).credential === credential);
    const servers = own.map((one) => (one as { token_url?: unknown }).token_url);
    return own.length === 0 ? [] : [base_url ?? url, ...servers].map((text) => originOf(String(text)));
  });
}
