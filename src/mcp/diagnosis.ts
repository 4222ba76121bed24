import { type ConnectionSetting, detailsOf } from '../core/error-code.ts';
import type { Failure } from '../core/failure.ts';
import { isRemote, type McpConnection, type RemoteServer } from '../core/tools.ts';

export interface Diagnosis {
  readonly part: 'address' | 'command' | 'firewall or proxy' | 'TLS' | 'credential' | 'expiry' | 'protocol' | 'server';
  readonly check: string;
  /** A setting of the connection that may be wrong, in addition to what `check` mentions. */
  readonly setting?: ConnectionSetting;
}

/** Finds the probable cause of a failed connection to an MCP server, for the user who is setting it up. */
export function diagnose(failure: Failure, { server }: McpConnection): Diagnosis {
  return isRemote(server) ? diagnoseRemote(failure, server) : diagnoseLocal(failure, server.command);
}

const unknownAddress = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED']);
const unreachable = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'ECONNRESET', 'UND_ERR_CONNECT_TIMEOUT', 'EPERM']);

const orFirewall = 'and whether outbound firewall rules or a proxy (HTTPS_PROXY) block it';

function diagnoseRemote(failure: Failure, server: RemoteServer): Diagnosis {
  const { status } = failure;
  if (failure.code === 'proxy') {
    return { part: 'firewall or proxy', check: 'the proxy in HTTPS_PROXY, and whether it lets this host through' };
  }
  if (failure.code === 'tls') {
    return { part: 'TLS', check: "the server's certificate, and whether a firewall intercepts TLS", setting: 'authority' };
  }
  const noToken = detailsOf(failure, 'no-access-token');
  if (noToken && !isTemporary(status)) return diagnoseTokenServer(failure, server, noToken.server);
  return diagnoseNetwork(failure, server.url) ?? diagnoseAnswer(failure, server);
}

function isTemporary(status: number | undefined): boolean {
  return status !== undefined && (status === 429 || status >= 500);
}

/** Diagnoses a failed request for an access token. A token server answers 400 or 401 if it does not know the client (RFC 6749, 5.2). */
function diagnoseTokenServer(failure: Failure, server: RemoteServer, tokenServer: string): Diagnosis {
  if ([400, 401, 403].includes(failure.status ?? 0)) return diagnoseCredential(failure, server);
  return { part: 'address', check: `the token_url: whether it leads to a token server at ${tokenServer}; ${orFirewall}` };
}

function diagnoseNetwork(failure: Failure, url: string): Diagnosis | undefined {
  const code = networkErrorCode(failure);
  const { host } = new URL(url);
  if (unknownAddress.has(code)) {
    const address = code === 'ECONNREFUSED' ? `whether a server listens at ${host}` : `the host in the URL: ${host}`;
    return { part: 'address', check: `${address}; ${orFirewall}` };
  }
  if (!unreachable.has(code) && failure.kind !== 'timeout') return undefined;
  const rules = `outbound firewall rules to ${host}, and the proxy (HTTPS_PROXY)`;
  return { part: 'firewall or proxy', check: `${rules}; or the server is slow: start_timeout` };
}

function diagnoseAnswer(failure: Failure, server: RemoteServer): Diagnosis {
  const { kind, status, message, retryAfterMs } = failure;
  if (status === 401 || status === 403 || kind === 'request') return diagnoseCredential(failure, server);
  if (status === 429) {
    const wait = retryAfterMs === undefined ? '' : ` for ${Math.ceil(retryAfterMs / 1000)} s`;
    return { part: 'server', check: `nothing now: the server asks you to wait${wait}; try again later` };
  }
  if (isTemporary(status)) return { part: 'server', check: 'the server itself: it responds with an error; try again later' };
  // `redirect` matches the SDK's error message for a redirect that it has not followed.
  if (status !== undefined || /redirect/i.test(message)) {
    const { pathname } = new URL(server.url);
    return { part: 'address', check: `the path in the URL: ${pathname}; MCP servers are often at /mcp, older ones at /sse` };
  }
  return { part: 'protocol', check: `whether there is an MCP server at ${server.url}: the server there does not speak the protocol` };
}

function diagnoseCredential({ status, message }: Failure, { auth }: RemoteServer): Diagnosis {
  if (!auth) {
    return { part: 'credential', check: 'which credential the server requires', setting: 'auth' };
  }
  const { type, credential } = auth;
  // The pattern matches common error messages of servers about expired tokens.
  if (status === 401 && /expired|expiry/i.test(message)) {
    const wayOut = `set a new one: automate credentials set ${credential}`;
    return { part: 'expiry', check: `the credential "${credential}" is no longer valid; ${wayOut}` };
  }
  const command = `automate credentials check ${credential}`;
  if (status === 403) {
    return { part: 'credential', check: `what the credential "${credential}" allows: its rights or scopes (${command})` };
  }
  const check = `the credential's validity and expiry (${command}), and that ${type} is the type of auth that the server requires`;
  return { part: 'credential', check };
}

function diagnoseLocal(failure: Failure, command: readonly string[]): Diagnosis {
  if (['ENOENT', 'EACCES'].includes(networkErrorCode(failure))) {
    return { part: 'command', check: `${command[0]}: is it installed, on the PATH, and executable?` };
  }
  if (failure.kind === 'request') return { part: 'credential', check: 'the hosts that the credential is bound to' };
  const check = `that this starts an MCP server over stdio, and which variables it needs: ${command.join(' ')}`;
  return { part: 'protocol', check, setting: 'variables' };
}

/** Finds the operating system's or undici's error code in an error or in its nested causes. Returns '' if there is none. */
function networkErrorCode(error: unknown, depth = 0): string {
  if (typeof error !== 'object' || error === null || depth > 8) return '';
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === 'string' && /^E(?!RR_)[A-Z_]+$|^UND_/.test(code)) return code;
  for (const inner of [...(Array.isArray(errors) ? errors : []), cause]) {
    const found = networkErrorCode(inner, depth + 1);
    if (found !== '') return found;
  }
  return '';
}
