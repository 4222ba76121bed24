import { Failure } from '../failure.ts';
import { shellVariableAdvice } from './template.ts';

export interface UrlRules {
  /** The base URL of the connection; undefined if relative URLs are not allowed. */
  readonly baseUrl?: string | undefined;
  readonly allowHttp: boolean;
}

/** Throws a Failure if the text is not an absolute https URL. */
export function targetOf(text: string, rules: UrlRules): { origin: string; path: string } {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: URL parsing would drop them silently
  if (/[\x00-\x20\x7f\\]/.test(text)) throw urlFailure(`the URL "${shortened(text)}" contains a space, a backslash or a control character`);
  if (!text.isWellFormed()) throw urlFailure('the URL contains a broken character (a lone surrogate)');
  if (!/^https?:\/\//i.test(text)) throw urlFailure(`expected an absolute https URL, found "${shortened(text)}"`);
  try {
    const url = checkedUrl(text, rules);
    refuseDotSegments(text);
    return { origin: url.origin, path: url.pathname + url.search };
  } catch (error) {
    throw error instanceof Failure ? error : urlFailure((error as Error).message);
  }
}

/** Matches a URL without a host. The URL parser would use the first segment of the path as the host. */
const hostless = /^[^:/?#]*:\/\/[/?#]/;

/** `shown` is the URL for messages. Throws a Failure (`plain-http`) for http://, and an Error with the reason for any other mistake. */
export function checkedUrl(text: string, rules: UrlRules, shown = text): URL {
  if (!URL.canParse(text) || hostless.test(text)) throw new Error(`not a valid URL: "${shortened(shown)}"${shellVariableAdvice(shown)}`);
  const url = new URL(text);
  const advice = shellVariableAdvice(url.hostname);
  if (advice !== '') throw new Error(`not a valid URL: "${shortened(shown)}"${advice}`);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new Error(`expected an https URL, found the scheme "${url.protocol.slice(0, -1)}"`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('a URL must not contain a user name or password; use auth: { type: basic, credential: NAME }');
  }
  if (url.protocol === 'http:' && !rules.allowHttp && !isLoopback(url.hostname)) {
    const message = `expected an https URL, found ${url.origin}\nto allow plain HTTP, set allow_http: true on the connection`;
    throw new Failure('request', message, { sent: false, code: 'plain-http', details: {} });
  }
  return url;
}

/** True for a host name or IP address of the local machine. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i.test(hostname) || hostname.endsWith('.localhost');
}

/** The URL parser resolves `.` and `..`, so a record could leave the path that the flow specifies. Throws a Failure. */
export function refuseDotSegments(url: string): void {
  const path = url.replace(/[?#].*$/s, '');
  if (/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path)) throw urlFailure(`a path segment must not be "." or "..", found in ${shortened(path)}`);
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200).toWellFormed()}...` : text;
}

export function urlFailure(message: string): Failure {
  return new Failure('request', message, { sent: false });
}
