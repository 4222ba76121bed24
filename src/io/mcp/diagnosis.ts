import type { Failure } from '../../core/failure.ts';
import { isRemote, type McpConnection } from '../../core/tools/tools.ts';

/** Why a server could not be spoken to, and what to check. */
export interface Trouble {
  readonly with: 'address' | 'command' | 'firewall or proxy' | 'TLS' | 'credential' | 'expiry' | 'protocol' | 'server';
  readonly check: string;
}

/** What a failed connection means for whoever set it up. */
export function diagnose(failure: Failure, connection: McpConnection): Trouble {
  const { server } = connection;
  return isRemote(server) ? remoteTrouble(failure, connection, server.url) : localTrouble(failure, server.command);
}

const unknownAddress = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED']);
const unreachable = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'ECONNRESET', 'UND_ERR_CONNECT_TIMEOUT', 'EPERM']);

function remoteTrouble(failure: Failure, connection: McpConnection, url: string): Trouble {
  const { kind, status, message } = failure;
  const code = codeOf(failure);
  const { host, pathname } = new URL(url);
  if (message.startsWith('the proxy '))
    return { with: 'firewall or proxy', check: 'the proxy in HTTPS_PROXY, and whether it lets this host through' };
  if (/(?:^|: )the TLS connection/.test(message)) {
    return { with: 'TLS', check: `the server's certificate; name its authority with --cacert FILE, and whether a firewall looks into TLS` };
  }
  const tokenServer = /^no access token from (\S+): /.exec(message)?.[1];
  if (tokenServer !== undefined && !isServers(status)) return tokenTrouble(failure, connection, tokenServer);
  if (unknownAddress.has(code)) {
    const what = code === 'ECONNREFUSED' ? `whether a server listens at ${host}` : `the host in the URL: ${host}`;
    return { with: 'address', check: `${what}; and whether outbound firewall rules or a proxy (HTTPS_PROXY) stand in the way` };
  }
  if (unreachable.has(code) || kind === 'timeout') {
    return {
      with: 'firewall or proxy',
      check: `outbound firewall rules to ${host}, and the proxy (HTTPS_PROXY); or the server is slow: start_timeout`,
    };
  }
  if (status === 401 || status === 403 || kind === 'request') return credentialTrouble(failure, connection);
  if (status === 429) return { with: 'server', check: `nothing now: the server asks to wait${waitOf(failure)}; try again later` };
  if (status !== undefined && status >= 500) return { with: 'server', check: 'the server itself: it answers, and fails; try again later' };
  if (status !== undefined || /redirect/i.test(message)) {
    return { with: 'address', check: `the path in the URL: ${pathname}; MCP servers are often at /mcp, older ones at /sse` };
  }
  return { with: 'protocol', check: `whether there is an MCP server at ${url}: what answers does not speak the protocol` };
}

/** Whether it is for the server alone to do something. */
function isServers(status: number | undefined): boolean {
  return status !== undefined && (status === 429 || status >= 500);
}

/** Nobody has asked the server itself yet. Of a client that it does not know a token server says 400 or 401 (RFC 6749, 5.2). */
function tokenTrouble(failure: Failure, connection: McpConnection, tokenServer: string): Trouble {
  if ([400, 401, 403].includes(failure.status ?? 0)) return credentialTrouble(failure, connection);
  const way = 'and whether outbound firewall rules or a proxy (HTTPS_PROXY) stand in the way';
  return { with: 'address', check: `the token_url: whether it leads to a token server at ${tokenServer}; ${way}` };
}

function waitOf({ retryAfterMs }: Failure): string {
  return retryAfterMs === undefined ? '' : ` for ${Math.ceil(retryAfterMs / 1000)} s`;
}

function credentialTrouble({ status, message }: Failure, { server }: McpConnection): Trouble {
  const auth = isRemote(server) ? server.auth : undefined;
  if (!auth)
    return {
      with: 'credential',
      check: 'which credential the server asks for: --auth bearer --credential NAME, or --auth oauth2_authorization_code',
    };
  const way = `automate credentials check ${auth.credential}`;
  if (status === 401 && /expired|expiry/i.test(message)) {
    return {
      with: 'expiry',
      check: `the credential "${auth.credential}" is no longer valid; set a new one: automate credentials set ${auth.credential}`,
    };
  }
  if (status === 403)
    return { with: 'credential', check: `what the credential "${auth.credential}" is allowed: its rights or scopes (${way})` };
  return {
    with: 'credential',
    check: `the credential's validity and expiry (${way}), and that --auth ${auth.type} is what the server asks for`,
  };
}

function localTrouble(failure: Failure, command: readonly string[]): Trouble {
  const code = codeOf(failure);
  if (code === 'ENOENT' || code === 'EACCES')
    return { with: 'command', check: `${command[0]}: is it installed, on the PATH, and may it be run?` };
  if (failure.kind === 'request') return { with: 'credential', check: 'the hosts that the credential is bound to' };
  return {
    with: 'protocol',
    check: `that this starts an MCP server over stdio, and what variables it needs (--pass-env): ${command.join(' ')}`,
  };
}

/** The system's code, wherever in the chain of causes it stands. */
function codeOf(failure: Failure): string {
  let found = '';
  const visit = (error: unknown, depth: number): void => {
    if (typeof error !== 'object' || error === null || depth > 8 || found !== '') return;
    const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown[] };
    if (typeof code === 'string' && /^E[A-Z]+$|^UND_/.test(code)) found = code;
    for (const one of [...(Array.isArray(errors) ? errors : []), cause]) visit(one, depth + 1);
  };
  visit(failure, 0);
  return found;
}
