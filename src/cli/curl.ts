import { type ParseArgsConfig, parseArgs } from 'node:util';
import { isLoopback, percentDecoded } from '../core/template/url.ts';
import { wordsOf } from '../core/text/words.ts';
import type { CredentialToStore } from '../starter/starter-secrets.ts';
import {
  formIn,
  formType,
  mergedHeaders,
  type RequestWithNotes,
  unusableRequest,
  type WrittenAuth,
  type WrittenHeader,
  type WrittenRequest,
} from '../starter/written-node.ts';

/** curl options that take a value and change the request. The letter before a colon is the short form. */
const requestOptions =
  'X:request H:header d:data data-ascii data-raw data-binary data-urlencode json u:user A:user-agent e:referer b:cookie oauth2-bearer url url-query m:max-time retry aws-sigv4';

const otherOptions =
  'o:output w:write-out D:dump-header c:cookie-jar connect-timeout retry-delay retry-max-time max-redirs stderr keepalive-time';

const flags =
  'G:get I:head basic digest k:insecure L:location s:silent S:show-error v:verbose i:include f:fail fail-with-body g:globoff N:no-buffer #:progress-bar compressed http1.1 http2 tlsv1.2 tlsv1.3 4:ipv4 6:ipv6 no-progress-meter no-keepalive path-as-is';

const notes: Readonly<Record<string, string>> = {
  insecure: '-k was left out: certificates are always checked; use --cacert for your own',
  proxy: '-x was left out: set the proxy in HTTPS_PROXY',
  cacert: '--cacert was left out of the flow: pass it to automate when you run the flow',
};

const options: NonNullable<ParseArgsConfig['options']> = {
  ...optionsIn(`${requestOptions} ${otherOptions} x:proxy cacert`, 'string'),
  ...optionsIn(flags, 'boolean'),
};

function optionsIn(names: string, type: 'string' | 'boolean'): typeof options {
  return Object.fromEntries(
    names.split(' ').map((written) => {
      const [name = '', short] = written.split(':').reverse();
      return [name, short === undefined ? { type } : { type, short }];
    }),
  );
}

interface CurlRequest extends RequestWithNotes {
  readonly credentials: readonly CredentialToStore[];
  /** Such as `$HOST`, which a shell would have replaced. For `${HOST}`, the flow itself gets a warning. */
  readonly shellVariables: readonly string[];
}

/** Throws an AutomateError (`usage`) if a flow cannot send the request. The message shows no value, because any value might be a secret. */
export function curlRequest(text: string): CurlRequest {
  const all = readArguments(text);
  const signer = signerOf(all);
  const given = signer ? all.filter(({ name, value }) => name !== 'user' && !(name === 'header' && signer.own.test(value))) : all;
  const texts = (...names: readonly string[]) => given.flatMap(({ name, value }) => (names.includes(name) ? [value] : []));
  const has = (name: string) => given.some((option) => option.name === name);
  const data = dataOf(given);
  const urls = texts('url');
  if (urls.length !== 1) throw unusableRequest(`expected one URL in the curl command, found ${urls.length === 0 ? 'none' : urls.length}`);
  const { url, login } = withoutName(urlOf(urls[0] as string));
  const headers = curlHeaders(texts('header'), [...login, ...given]);
  const query = [...texts('url-query').map(inQuery), ...(has('get') && data ? [data] : [])];
  return {
    request: {
      method: texts('request').at(-1) ?? (has('head') ? 'HEAD' : has('get') || data === undefined ? 'GET' : 'POST'),
      url: withQuery(url, query),
      ...(has('get') || !data ? { headers } : payloadOf(data, headers, has('json'))),
      ...number('timeoutSeconds', texts('max-time')),
      ...number('retries', texts('retry')),
      ...(signer && { auth: [signer.auth] }),
    },
    credentials: signer ? [signer.credential] : [],
    notes: Object.entries(notes).flatMap(([name, note]) => (has(name) ? [note] : [])),
    shellVariables: shellVariablesIn(text),
  };
}

/** A shell replaces no variables in single quotes. GraphQL has variables there, too. */
function shellVariablesIn(text: string): string[] {
  const names = text.replace(/\$?'[^']*'/g, ' ').matchAll(/(?<!\\)\$[A-Za-z_]\w*/g);
  return [...new Set([...names].map(([name]) => name))];
}

interface Signer {
  readonly auth: WrittenAuth;
  readonly credential: CredentialToStore;
  /** Matches headers that the signature itself adds. */
  readonly own: RegExp;
}

/** Both options sign requests with the login, and do not send it. `--aws-sigv4` takes `aws:amz:REGION:SERVICE` or the beginning of it. */
function signerOf(given: readonly Given[]): Signer | undefined {
  const aws = given.find(({ name }) => name === 'aws-sigv4');
  if (aws) {
    const [, , region, service] = aws.value.split(':');
    const own = /^x-amz-security-token:/i;
    const isTemporary = given.some(({ name, value }) => name === 'header' && own.test(value));
    const key = `ACCESS_KEY_ID:SECRET_ACCESS_KEY${isTemporary ? ':SESSION_TOKEN' : ''}`;
    return {
      auth: { type: 'aws_sigv4', ...(service && { service }), ...(region && { region }), credential: 'aws' },
      credential: { name: 'aws', note: `not written: the key of --aws-sigv4; store ${key} as the credential aws` },
      own,
    };
  }
  if (!given.some(({ name }) => name === 'digest')) return undefined;
  const note = 'not written: the login of --digest; store username:password as the credential digest-login';
  return { auth: { type: 'digest', credential: 'digest-login' }, credential: { name: 'digest-login', note }, own: /^authorization:/i };
}

const multipart =
  '-d or --data-urlencode sends a form without files; for one with files write form: { name: { file: PATH } } into the flow';
const certificate = 'leave it out, and write client_cert: { cert: FILE, key: FILE } into a connection of the flow';

/** Advice for options that are not read from a command. */
const inFlows = new Map([
  ...['-F', '--form', '--form-string'].map((option) => [option, multipart] as const),
  ...['-E', '--cert', '--key'].map((option) => [option, certificate] as const),
]);

/** Keeps the original order. Arguments that belong to no option are URLs. */
function readArguments(text: string): Given[] {
  // The prompt of a shell is often copied, too.
  const [program, ...args] = wordsIn(text.replace(/^\s*[$%#>]\s+/, ''));
  if (!/(?:^|[/\\])curl(?:\.exe)?$/.test(program)) throw unusableRequest('expected a command line that begins with curl');
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  return tokens.flatMap((token) => {
    if (token.kind === 'option-terminator') return [];
    if (token.kind === 'positional') return [{ name: 'url', value: argument(token.value) }];
    const { name, rawName, value } = token;
    if (!Object.hasOwn(options, name)) {
      const way = inFlows.get(rawName);
      throw unusableRequest(
        way ? `curl's ${rawName} is not supported: ${way}` : `a flow cannot do what this option of curl does: ${rawName}`,
      );
    }
    if (options[name]?.type === 'string' && value === undefined) throw unusableRequest(`curl's ${rawName} needs a value`);
    return [{ name, value: value ?? '' }];
  });
}

/** Throws if the word shows that another command follows, or that the line was quoted for cmd.exe. */
function argument(word: string): string {
  const operator = /^(?:\|\|?|&&?|;|\d?>>?|<|#)/.exec(word)?.[0];
  if (operator !== undefined) throw unusableRequest(`expected only a curl command, found "${operator}" after it`);
  if (word.startsWith('^')) throw unusableRequest('found quoting for cmd.exe (^); in your browser, choose "Copy as cURL (bash)"');
  return word;
}

function wordsIn(text: string): readonly [string, ...string[]] {
  if (!/\S/.test(text)) throw unusableRequest('expected a command line that begins with curl, found nothing');
  const [quote] = /(?<=\s)[\u2018\u2019\u201c\u201d]/.exec(text.replace(/'[^']*'|"(?:[^"\\]|\\.)*"/gs, '')) ?? [];
  if (quote !== undefined) throw unusableRequest(`found the typographic quote ${quote}, which no shell knows; write ' or "`);
  try {
    return wordsOf(text);
  } catch (error) {
    throw unusableRequest((error as Error).message);
  }
}

/** Adds a missing scheme: http for this machine, otherwise https, although curl would use http. */
function urlOf(written: string): string {
  const url = written.replace(/#.*$/s, '');
  if (/^(?:[a-z][a-z\d+.-]*:\/\/|\{\{)/i.test(url)) return url;
  const host = /^(?:\[[^\]]*\]|[^/?:]*)/.exec(url)?.[0] ?? '';
  return `${isLoopback(host) ? 'http' : 'https'}://${url}`;
}

/** Splits off a user name without a password. Some APIs expect a token as the user name, so it counts as a login. */
function withoutName(url: string): { readonly url: string; readonly login: readonly Given[] } {
  const [whole = '', scheme = '', name = ''] = /^([a-z][a-z\d+.-]*:\/\/)([^/?#:@{]+):?@/i.exec(url) ?? [];
  if (whole === '') return { url, login: [] };
  return { url: scheme + url.slice(whole.length), login: [{ name: 'user', value: `${percentDecoded(name)}:` }] };
}

function withQuery(url: string, added: readonly string[]): string {
  return added.length === 0 ? url : `${url}${url.includes('?') ? '&' : '?'}${added.join('&')}`;
}

function curlHeaders(written: readonly string[], given: readonly Given[]): WrittenHeader[] {
  const byOption = given.flatMap(({ name, value }): WrittenHeader[] => {
    const header = value === '' && name !== 'json' ? undefined : headerOfOption(name, value);
    return header ? [header] : [];
  });
  const cookies = byOption.filter(([name]) => name === 'Cookie');
  return [...byOption, ...mergedHeaders(cookies), ...mergedHeaders(written.flatMap(headerOf))];
}

function headerOfOption(option: string, value: string): WrittenHeader | undefined {
  switch (option) {
    case 'user':
      return ['Authorization', `Basic ${Buffer.from(value.includes(':') ? value : `${value}:`).toString('base64')}`];
    case 'oauth2-bearer':
      return ['Authorization', `Bearer ${value}`];
    case 'json':
      return ['Accept', 'application/json'];
    case 'user-agent':
      return ['User-Agent', value];
    case 'referer':
      return ['Referer', value];
    case 'cookie':
      if (!value.includes('=')) throw unusableRequest('a flow cannot read cookies from a file (-b FILE)');
      return ['Cookie', value];
    default:
      return undefined;
  }
}

/** Parses `Name: value`. As in curl, `Name;` sends an empty value, and `Name:` removes a header that curl would send. */
function headerOf(written: string): WrittenHeader[] {
  const [, name = '', value = ''] = /^([^:;]+)(?::\s*|;$)(.*)$/s.exec(written) ?? [];
  if (name === '') throw unusableRequest("expected headers such as -H 'Accept: application/json'");
  return value === '' && !written.endsWith(';') ? [] : [[name.trim(), value.trim()]];
}

function number<Name extends string>(name: Name, written: readonly string[]): { [key in Name]?: number } {
  const value = Number(written.at(-1));
  return Number.isFinite(value) && value > 0 ? ({ [name]: value } as { [key in Name]?: number }) : {};
}

interface Given {
  readonly name: string;
  readonly value: string;
}

function dataOf(given: readonly Given[]): string | undefined {
  let data: string | undefined;
  for (const { name, value } of given) {
    if (name === 'json') data = `${data ?? ''}${inPlace(value)}`;
    else if (name === 'data-urlencode') data = append(urlEncoded(value));
    else if (/^data/.test(name)) data = append(name === 'data-raw' ? value : inPlace(value));
  }
  return data;

  function append(piece: string): string {
    return data === undefined ? piece : `${data}&${piece}`;
  }
}

/** Encodes as --data-urlencode does. A leading plus means that the value is already encoded. */
function inQuery(value: string): string {
  return value.startsWith('+') ? value.slice(1) : urlEncoded(value);
}

/** Throws if the value begins with `@`, which makes curl read a file. */
function inPlace(value: string): string {
  if (value.startsWith('@')) throw unusableRequest('a flow cannot read a body from a file (@...); put its text into the command');
  return value;
}

/** Encodes `content`, `=content` or `name=content` as curl's --data-urlencode does. */
function urlEncoded(value: string): string {
  const [, name, content = value] = /^([^=@]*)=(.*)$/s.exec(value) ?? [];
  if (name === undefined && value.includes('@'))
    throw unusableRequest('a flow cannot read data from a file (@...); put its text into the command');
  const encoded = encodeURIComponent(content).replaceAll('%20', '+');
  return name ? `${name}=${encoded}` : encoded;
}

type CurlBody = Pick<WrittenRequest, 'body' | 'form' | 'text' | 'headers'>;

/** Chooses JSON, a form or text. Without a Content-Type, curl would send a form, but text that begins like JSON is treated as JSON. */
function payloadOf(data: string, headers: WrittenRequest['headers'], isJson: boolean): CurlBody {
  const type = headers.find(([name]) => /^content-type$/i.test(name))?.[1];
  // Types such as application/x-amz-json-1.0 do not end with json, and can also be other text.
  const looksLikeJson = /^\s*[[{]/.test(data) && /\bjson\b/i.test(type ?? 'json');
  if (isJson || looksLikeJson || /[/+]json\b/i.test(type ?? '')) return { headers, body: data };
  const form = type === undefined || type.toLowerCase().startsWith(formType) ? formIn(data) : undefined;
  if (form) return { headers, form };
  return { headers: type === undefined ? [...headers, ['Content-Type', formType]] : headers, text: data };
}
