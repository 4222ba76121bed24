import { Failure } from '../failure.ts';
import { shellVariableAdvice } from './template.ts';

/** The rules of the flow and the command line for URLs. */
export interface UrlRules {
  /** The connection's base URL. Relative URLs need one. */
  readonly baseUrl?: string | undefined;
  readonly allowHttp: boolean;
}

/** The origin and the path of a rendered URL. Throws a Failure if it is not an absolute https URL. */
export function targetOf(text: string, rules: UrlRules): { origin: string; path: string } {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: URL parsing would drop them silently
  if (/[\x00-\x20\x7f\\]/.test(text)) throw urlFailure(`the URL "${shortened(text)}" holds a space, a backslash or a control character`);
  if (!text.isWellFormed()) throw urlFailure('the URL holds a broken character (a lone surrogate)');
  if (!/^https?:\/\//i.test(text)) throw urlFailure(`expected an absolute https URL, found "${shortened(text)}"`);
  try {
    const url = checkedUrl(text, rules);
    refuseDotSegments(text);
    return { origin: url.origin, path: url.pathname + url.search };
  } catch (error) {
    throw error instanceof Failure ? error : urlFailure((error as Error).message);
  }
}

/** A URL without a host: URL parsing would take the first segment of the path for it. */
const hostless = /^[^:/?#]*:\/\/[/?#]/;

/** Parses and checks a URL. `shown`: its text in messages. Throws an Error with the reason for a refusal, or a Failure (`plain-http`). */
export function checkedUrl(text: string, rules: UrlRules, shown = text): URL {
  if (!URL.canParse(text) || hostless.test(text)) throw new Error(`not a valid URL: "${shortened(shown)}"${shellVariableAdvice(shown)}`);
  const url = new URL(text);
  const advice = shellVariableAdvice(url.hostname);
  if (advice !== '') throw new Error(`not a valid URL: "${shortened(shown)}"${advice}`);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new Error(`expected an https URL, found the scheme "${url.protocol.slice(0, -1)}"`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('a URL must not hold a user name or password; use auth: { type: basic, credential: NAME }');
  }
  if (url.protocol === 'http:' && !rules.allowHttp && !isLoopback(url.hostname)) {
    const message = `expected an https URL, found ${url.origin}\nset allow_http: true on the connection if plain HTTP is what you want`;
    throw new Failure('request', message, { sent: false, code: 'plain-http', details: {} });
  }
  return url;
}

/** True for a host name or address of this machine itself. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i.test(hostname) || hostname.endsWith('.localhost');
}

/** Refuses `.` and `..`: URL parsing removes them, so a record could leave the path that the flow names. */
export function refuseDotSegments(url: string): void {
  const path = url.replace(/[?#].*$/s, '');
  if (/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path)) throw urlFailure(`a path segment must not be "." or "..", found in ${shortened(path)}`);
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200).toWellFormed()}...` : text;
}

/** The failure of a record whose URL cannot be requested. */
export function urlFailure(message: string): Failure {
  return new Failure('request', message, { sent: false });
}
