import { authProblem, placedAuths } from '../core/auth/auth.ts';
import type { Connection } from '../core/connection.ts';
import type { CodedMessage } from '../core/error-code.ts';
import type { Problem } from '../core/failure.ts';
import { headerTemplate, referencedFields } from '../core/template/template.ts';
import { urlTemplate } from '../core/template/url.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { compileMcpConnection } from './mcp-connection.ts';
import { checkedBy } from './problems/issues.ts';
import { connectionSchema } from './schema.ts';
import type { At, Source } from './source.ts';

/** Matches an absolute path, including one on Windows. */
const absolute = /^(?:[\\/]|[a-z]:[\\/])/i;

/** Compiles the connections in a flow, and reports their problems. The value of a connection with problems is `undefined`. */
export function compileConnections(
  written: Readonly<Record<string, unknown>>,
  where: {
    readonly source: Source;
    readonly problems: Problem[];
    readonly allowHttp: boolean;
    readonly isSaved: boolean;
    readonly file?: string;
  },
): Map<string, Connection | undefined> {
  return new Map(Object.entries(written).map(([name, options]) => [name, compileConnection(name, options, where)]));
}

function compileConnection(name: string, written: unknown, where: Parameters<typeof compileConnections>[1]): Connection | undefined {
  const at = ['connections', name];
  const problem = (place: At, message: string | CodedMessage) => where.problems.push(where.source.at([...at, ...place], message));
  const tried = <Result>(place: At, compile: () => Result): Result | undefined => {
    try {
      return compile();
    } catch (error) {
      problem(place, error as Error);
      return undefined;
    }
  };
  const type = (written as { type?: unknown } | null | undefined)?.type;
  if (type === 'mcp') return compileMcpConnection(name, written, { ...where, at, problem, tried });
  if (typeof type === 'string' && type !== 'http') {
    problem(['type'], `no connection type "${type}"${didYouMean(type, ['http', 'mcp']) || '; expected http or mcp'}`);
    return undefined;
  }
  const before = where.problems.length;
  const options = checkedBy(connectionSchema, written, { ...where, at });
  if (!options) return undefined;
  const allowHttp = where.allowHttp || options.allow_http;
  const { auth, headers = {} } = options;
  for (const [header, value] of Object.entries(headers)) tried(['headers', header], () => headerTemplate(header, value));
  const signers = placedAuths(auth);
  for (const { auth: one, at: entry } of signers) {
    const wrong = authProblem(one, allowHttp);
    if (wrong) problem(['auth', ...entry, wrong.option], wrong.message);
  }
  const { client_cert: certificate } = options;
  if (certificate) checkCertificate(certificate, options.base_url, { isSaved: where.isSaved, problem });
  const origin = tried(['base_url'], () => originOf(options.base_url, allowHttp));
  if (origin === undefined || where.problems.length > before) return undefined;
  return {
    type: 'http',
    name,
    isSaved: where.isSaved,
    baseUrl: options.base_url,
    origin,
    auth: signers.length > 0 ? signers.map((signer) => signer.auth) : undefined,
    clientCert: certificate && { ...certificate, passphrase: certificate.passphrase?.credential, flow: where.file },
    headers,
    intervalMs: options.rate,
    concurrency: options.concurrency,
    allowHttp,
    credits: options.credits,
    cost: options.cost,
    charset: options.charset,
  };
}

function checkCertificate(
  files: { readonly cert: string; readonly key: string },
  baseUrl: string,
  { isSaved, problem }: { readonly isSaved: boolean; problem(place: At, message: string): void },
): void {
  if (!baseUrl.startsWith('https:')) problem(['client_cert'], 'a client certificate needs a base_url with https://');
  for (const key of ['cert', 'key'] as const)
    if (isSaved && !absolute.test(files[key])) problem(['client_cert', key], 'a saved connection needs the full path of the file');
}

function originOf(baseUrl: string, allowHttp: boolean): string {
  const fields = referencedFields(baseUrl);
  if (fields.length > 0)
    throw new Error(
      `a base_url cannot have references; put them into the nodes' url\nfor a value that is fixed for the run, write {{vars.${fields[0]}}}, and at the top of the flow: vars: { ${fields[0]}: VALUE }`,
    );
  if (/[?#]/.test(baseUrl)) throw new Error("a base_url ends with its path; put the query into the nodes' url");
  return urlTemplate(baseUrl, { allowHttp }).origin as string;
}
