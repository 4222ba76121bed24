import { Cookie, CookieJar } from 'tough-cookie';
import type { HttpResponse } from '../../core/ports.ts';
import { withoutEcho } from './echo.ts';
import type { RequestSigner } from './request-signers.ts';

/** Shorter values are masked only if the login takes the cookie, or browsers hide it from scripts, because they can be ordinary words. */
const longValue = 12;

/** Some sites change a cookie with every answer. Requests in flight may still have earlier values. */
const maxValues = 100;

/** The cookies of a session (RFC 6265). */
export class Cookies implements RequestSigner {
  readonly #secret: (text: string, slot: string) => void;
  readonly #slot: string;
  readonly #taken = new Set<string>();
  /** The last values that are masked. */
  readonly #values = new Set<string>();
  /** Cookies that are marked Secure are sent to this machine over http, as browsers do. */
  readonly #jar = new CookieJar(undefined, { rejectPublicSuffixes: true, allowSecureOnLocal: true, looseMode: true });

  /** The last values are masked in all output. */
  constructor(secret: (text: string, slot: string) => void, slot: string) {
    this.#secret = secret;
    this.#slot = slot;
  }

  send: RequestSigner['send'] = async (request, next) => {
    const url = request.origin + request.path;
    const own = Object.entries(request.headers).find(([name]) => name.toLowerCase() === 'cookie');
    const text = [own?.[1], this.#jar.getCookieStringSync(url)].filter(Boolean).join('; ');
    const answer = await next({ headers: text === '' ? {} : { [own?.[0] ?? 'Cookie']: text } });
    for (const line of [answer.headers?.['set-cookie'] ?? []].flat()) this.#store(line, url);
    return answer;
  };

  /** Returns the value of a cookie that requests need in another place, too, and masks all its values. */
  take(origin: string, name: string): string | undefined {
    const value = this.value(origin, name);
    if (value !== undefined) this.#hide(value, name);
    this.#taken.add(name);
    return value;
  }

  /** The current value of a cookie, also if it goes only with some paths. */
  value(origin: string, name: string): string | undefined {
    return this.#jar.getCookiesSync(origin, { allPaths: true }).find(({ key }) => key === name)?.value;
  }

  names(origin: string): string[] {
    return this.#jar.getCookiesSync(origin, { allPaths: true }).map(({ key }) => key);
  }

  /** Masks the cookies in an answer, also those that are masked nowhere else because newer ones have replaced them. */
  masked(answer: HttpResponse): HttpResponse {
    return withoutEcho(answer, [...this.#values]);
  }

  #store(line: string, url: string): void {
    const cookie = Cookie.parse(line, { loose: true });
    if (!cookie) return;
    const { key, value, httpOnly, secure } = cookie;
    if (httpOnly || secure || this.#taken.has(key) || value.length >= longValue) this.#hide(value, key);
    this.#jar.setCookieSync(cookie, url, { ignoreError: true });
  }

  #hide(value: string, key: string): void {
    this.#secret(value, `${this.#slot} cookie ${key}`);
    this.#values.delete(value);
    this.#values.add(value);
    const [oldest] = this.#values;
    if (this.#values.size > maxValues) this.#values.delete(oldest as string);
  }
}
