import { performance } from 'node:perf_hooks';
import { onTestFinished } from 'vitest';
import type { Auth } from '../../src/core/auth/auth.ts';
import { Failure } from '../../src/core/failure.ts';
import type { Http, HttpRequest, HttpResponse } from '../../src/core/ports.ts';
import type { Secret } from '../../src/credentials/secret.ts';
import { createHttp } from '../../src/http/client.ts';
import { RunFiles } from '../../src/http/transfers/run-files.ts';
import { createTransport } from '../../src/http/transport.ts';

/** The settings of an HTTP sender in a test. */
export interface SenderOptions {
  readonly environment?: NodeJS.ProcessEnv;
  readonly cacert?: string;
  /** The secrets by credential name. A secret can be limited to certain hosts. */
  readonly secrets?: Readonly<Record<string, string | { readonly text: string; readonly hosts: readonly string[] }>>;
  readonly allowHttp?: boolean;
  readonly now?: () => number;
  readonly wallNow?: () => number;
  readonly warn?: (message: string) => void;
}

/** The differences from a plain GET request. */
export type Changes = Partial<Omit<HttpRequest, 'auth'>> & { readonly auth?: Auth | readonly Auth[] };

/** The HTTP client, which uses real sockets. */
export interface Sender {
  readonly http: Http;
  /** Every secret that the client has registered, so that it can be masked. */
  readonly secrets: readonly string[];
  /** Every credential that the client has reported as used. */
  readonly used: readonly string[];
  get(url: string, more?: Changes): Promise<HttpResponse>;
  /** Sends a request that must fail. Resolves with its failure. */
  failure(url: string, more?: Changes): Promise<Failure>;
}

/** Creates the HTTP client for the current test. */
export function createSender(options: SenderOptions = {}): Sender {
  const { environment = {}, cacert, secrets = {}, allowHttp = true, now = () => performance.now(), wallNow = Date.now, warn } = options;
  const registered: string[] = [];
  const used: string[] = [];
  const transport = createTransport({ environment, cacert, userAgent: 'automate/test', now, wallNow, warn });
  const http = createHttp({
    transport,
    files: new RunFiles({ folder: undefined }),
    secrets: new Map(Object.entries(secrets).map(([name, secret]) => [name, toSecret(secret)])),
    used: (credential) => void used.push(credential),
    allowHttp,
    now,
    wallNow,
    secret: (text) => void registered.push(text),
  });
  onTestFinished(() => http.abort());
  const get = (url: string, more: Changes = {}) => http.send(requestOf(url, more));
  return {
    http,
    secrets: registered,
    used,
    get,
    async failure(url, more) {
      const answer = await get(url, more).catch((error: unknown) => error);
      if (!(answer instanceof Failure)) throw new Error('expected a Failure', { cause: answer });
      return answer;
    },
  };
}

function toSecret(given: string | { text: string; hosts: readonly string[] }): Secret {
  return typeof given === 'string' ? { text: given, from: 'test' } : { ...given, from: 'test' };
}

/** Returns a GET request with limits that only a hang can reach, even on a machine with much else to do. */
function requestOf(url: string, { auth, ...more }: Changes = {}): HttpRequest {
  const { origin, pathname, search } = new URL(url);
  return {
    method: 'GET',
    origin,
    path: pathname + search,
    headers: {},
    timeoutMs: 30_000,
    maxBodyBytes: 10_000_000,
    followAny: false,
    auth: auth && ('type' in auth ? [auth] : auth),
    ...more,
  };
}

/** Returns the body of a response as a string. */
export function textOf(response: HttpResponse): string {
  return Buffer.from(response.body).toString();
}
