import { createHash, randomBytes } from 'node:crypto';
import type { Auth } from '../../core/auth/auth.ts';
import type { Signature } from '../../core/auth/auth-type.ts';
import { Failure } from '../../core/failure.ts';
import { type RequestSigner, refusedCredential, type SignedAnswer, type SignedRequest, type SignerSecret } from './request-signers.ts';

type Digest = Extract<Auth, { type: 'digest' }>;

/** A challenge of a server, in its header WWW-Authenticate. */
export interface Challenge {
  readonly realm: string;
  readonly nonce: string;
  readonly opaque: string | undefined;
  /** As the server writes it, or undefined for MD5 without a name. */
  readonly algorithm: string | undefined;
  readonly hash: string;
  readonly hasSession: boolean;
  /** Undefined for servers of RFC 2069, which know no qop. */
  readonly qop: 'auth' | undefined;
}

const hashes: Readonly<Record<string, string>> = { MD5: 'md5', 'SHA-256': 'sha256', 'SHA-512-256': 'sha512-256' };

/** Maximum number of attempts of a request, if the server says after each of them that only the nonce was used up. */
const maxStale = 10;

/** True if only the nonce was refused: the server knows that the password is right (RFC 7616, 3.3). */
function isStale({ header }: SignedAnswer): boolean {
  return /\bstale\s*=\s*"?true\b/i.test(header('www-authenticate') ?? '');
}

/** Asks for the challenge once, and then counts `nc` up. All requests that need the challenge in the same moment wait for it. */
export function digestSigner(auth: Digest, secret: SignerSecret): RequestSigner {
  return new DigestSigner(auth, secret);
}

class DigestSigner implements RequestSigner {
  readonly #secret: SignerSecret;
  readonly #user: string;
  readonly #password: string;
  #challenge: Challenge | undefined;
  #count = 0;
  /** Ends when the first request has its answer. */
  #asking: Promise<unknown> | undefined;

  constructor({ username }: Digest, secret: SignerSecret) {
    const { text } = secret;
    const colon = username === undefined ? text.indexOf(':') : -1;
    this.#secret = secret;
    this.#user = username ?? text.slice(0, colon);
    this.#password = text.slice(colon + 1);
  }

  async send<Answer extends SignedAnswer>(request: SignedRequest, next: (signature: Signature) => Promise<Answer>): Promise<Answer> {
    while (!this.#challenge && this.#asking) await this.#asking;
    let used = this.#challenge;
    let answer = await (used ? next(this.#sign(request, used)) : this.#ask(next({ headers: {} })));
    for (let attempt = 0; answer.status === 401 && attempt < (isStale(answer) ? maxStale : 2); attempt++) {
      const known = this.#challenge;
      // Another request may have got a new challenge since this one was sent. A server whose nonces can be used only a few times says stale,
      // and the challenge of another request may be used up, too.
      const to = known && known.nonce !== used?.nonce && !isStale(answer) ? known : this.#learn(answer);
      if (used && to.nonce === used.nonce) break;
      used = to;
      answer = await next(this.#sign(request, to));
    }
    if (answer.status !== 401 || isStale(answer)) return answer;
    const { credential, origin } = this.#secret;
    throw refusedCredential(credential, `the server ${origin} refuses the user name and password in "${credential}" (401, Digest)`, true);
  }

  /** Other requests wait for the challenge in the answer. */
  #ask<Answer extends SignedAnswer>(sending: Promise<Answer>): Promise<Answer> {
    const learnt = sending.then((answer) => answer.status === 401 && !this.#challenge && this.#learn(answer));
    this.#asking = learnt
      .catch(() => undefined)
      .finally(() => {
        this.#asking = undefined;
      });
    return sending;
  }

  #sign(request: SignedRequest, to: Challenge): Signature {
    const cnonce = randomBytes(16).toString('hex');
    const value = digestHeader(request, to, { user: this.#user, password: this.#password, cnonce, count: ++this.#count });
    const [, response = ''] = /response="([^"]*)"/.exec(value) ?? [];
    return { headers: { Authorization: value }, derived: [response] };
  }

  #learn(answer: SignedAnswer): Challenge {
    const found = strongestChallenge(answer.header('www-authenticate') ?? '');
    if (!found) {
      const message = `the server ${this.#secret.origin} refuses the request (401), and asks for no Digest authentication that automate knows`;
      throw new Failure('http', message, { status: 401 });
    }
    if (found.nonce !== this.#challenge?.nonce) this.#count = 0;
    this.#challenge = found;
    return found;
  }
}

interface DigestPerson {
  readonly user: string;
  readonly password: string;
  readonly cnonce: string;
  readonly count: number;
}

/** The header Authorization (RFC 7616, 3.4). */
export function digestHeader(
  { method, path }: Pick<SignedRequest, 'method' | 'path'>,
  to: Challenge,
  { user, password, cnonce, count }: DigestPerson,
): string {
  const hash = (value: string) => createHash(to.hash).update(value).digest('hex');
  const nc = count.toString(16).padStart(8, '0');
  const secret = hash(`${user}:${to.realm}:${password}`);
  const first = to.hasSession ? hash(`${secret}:${to.nonce}:${cnonce}`) : secret;
  const second = hash(`${method}:${path}`);
  const middle = to.qop === undefined ? to.nonce : `${to.nonce}:${nc}:${cnonce}:${to.qop}`;
  const quoted = (value: string) => `"${value.replace(/["\\]/g, '\\$&')}"`;
  return `Digest ${[
    `username=${quoted(user)}`,
    `realm=${quoted(to.realm)}`,
    `nonce=${quoted(to.nonce)}`,
    `uri=${quoted(path)}`,
    `response="${hash(`${first}:${middle}:${second}`)}"`,
    ...(to.algorithm === undefined ? [] : [`algorithm=${to.algorithm}`]),
    ...(to.opaque === undefined ? [] : [`opaque=${quoted(to.opaque)}`]),
    ...(to.qop === undefined ? [] : [`qop=${to.qop}`, `nc=${nc}`]),
    ...(to.qop === undefined && !to.hasSession ? [] : [`cnonce="${cnonce}"`]),
  ].join(', ')}`;
}

/** A header can have several challenges. The strongest hash counts. Undefined if there is none that is known. */
export function strongestChallenge(header: string): Challenge | undefined {
  const found = header
    .split(/(?:^|,)\s*(?=Digest\s)/i)
    .filter((part) => /^\s*Digest\s/i.test(part))
    .flatMap((part) => challengeOf(part.replace(/^\s*Digest\s+/i, '')) ?? []);
  const order = ['md5', 'sha256', 'sha512-256'];
  return found.reduce<Challenge | undefined>(
    (best, one) => (best && order.indexOf(best.hash) >= order.indexOf(one.hash) ? best : one),
    undefined,
  );
}

function challengeOf(text: string): Challenge | undefined {
  const values = new Map<string, string>();
  for (const [, name = '', quoted, bare = ''] of text.matchAll(/([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g)) {
    if (!values.has(name.toLowerCase())) values.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? bare);
  }
  const algorithm = values.get('algorithm');
  const [, name = '', session] = /^(.*?)(-sess)?$/i.exec((algorithm ?? 'MD5').toUpperCase()) ?? [];
  const hash = hashes[name];
  const nonce = values.get('nonce');
  const offered = values.get('qop')?.split(/[\s,]+/);
  if (hash === undefined || nonce === undefined || (offered && !offered.includes('auth'))) return undefined;
  return {
    realm: values.get('realm') ?? '',
    nonce,
    opaque: values.get('opaque'),
    algorithm,
    hash,
    hasSession: session !== undefined,
    qop: offered && 'auth',
  };
}
