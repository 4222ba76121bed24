import { AutomateError } from '../core/failure.ts';
import { percentDecoded } from '../core/template/url.ts';
import { bytesOfBase64 } from '../core/text/base64.ts';
import { orUndefined } from '../core/value/value.ts';
import { isPossiblySecret } from '../flow/secrets/secret-text.ts';
import { type JsonPart, listOf, mediaType, partOf, textIn } from './json-parts.ts';
import { addCookie, addSecretHeader, addSecretPairs, addSecretsIn, KnownSecrets, passwordIn } from './known-secrets.ts';
import {
  formIn,
  formType,
  mergedHeaders,
  noBody,
  type RequestWithNotes,
  sendableBody,
  type WrittenAuth,
  type WrittenBody,
  type WrittenHeader,
} from './written-node.ts';

/** A request of a recording (HTTP Archive 1.2), with its answer. */
export interface HarEntry {
  /** Its position in the file, from 1. */
  readonly number: number;
  readonly method: string;
  readonly url: string;
  readonly headers: readonly WrittenHeader[];
  readonly postData: JsonPart;
  readonly answer: HarAnswer;
  /** The kind of its data; undefined if the request does not look like a call of an API. */
  readonly kind: 'JSON' | 'XML' | 'form' | undefined;
}

export interface HarAnswer {
  /** 0 if the request has no answer. */
  readonly status: number;
  /** In lower case and without parameters; empty if it is unknown. */
  readonly type: string;
  readonly text: string | undefined;
}

export interface Har {
  readonly entries: readonly HarEntry[];
  readonly secrets: KnownSecrets;
}

/** Throws an AutomateError (`input`) if the document is not a recording. */
export function readHar(document: unknown, file: string): Har {
  const { entries } = partOf(partOf(document).log);
  if (!Array.isArray(entries)) throw new AutomateError('input', `${file}: expected a HAR file, found ${otherKind(document)}`);
  const secrets = new KnownSecrets();
  const read = entries.map((entry, index) => {
    addSecretsOf(partOf(entry), secrets);
    return entryOf(partOf(entry), index + 1);
  });
  return { entries: read, secrets };
}

function otherKind(document: unknown): string {
  const { info, openapi, swagger, log, item } = partOf(document);
  if (openapi !== undefined || swagger !== undefined) return 'an OpenAPI file';
  if (item !== undefined || 'schema' in partOf(info)) return 'a Postman collection';
  return log === undefined ? 'other JSON, without "log"' : '"log" without a list of "entries"';
}

function entryOf(entry: JsonPart, number: number): HarEntry {
  const request = partOf(entry.request);
  const postData = partOf(request.postData);
  const method = (textIn(request.method) ?? 'GET').toUpperCase();
  const url = (textIn(request.url) ?? '').replace(/#.*$/s, '');
  const headers = headersOf(request);
  const answer = answerOf(partOf(entry.response));
  const kind = isCall(entry, { method, url, headers, answer }) ? kindOf({ method, headers, postData, answer }, entry) : undefined;
  return { number, method, url, headers, postData, answer, kind };
}

/** Some tools list the cookies, but have no header with them. HTTP/2 can divide this header into several. */
function headersOf(request: JsonPart): WrittenHeader[] {
  const headers = mergedHeaders(pairsOf(request.headers));
  const cookies = pairsOf(request.cookies).map(([name, value]) => `${name}=${value}`);
  if (cookies.length === 0 || headers.some(([name]) => /^cookie$/i.test(name))) return headers;
  return [...headers, ['Cookie', cookies.join('; ')]];
}

function pairsOf(list: unknown): WrittenHeader[] {
  return listOf(list).flatMap((pair): WrittenHeader[] => {
    const { name, value } = partOf(pair);
    return typeof name === 'string' && name !== '' ? [[name, String(value ?? '')]] : [];
  });
}

function headerIn(headers: readonly WrittenHeader[], wanted: string): string {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? '';
}

function answerOf(response: JsonPart): HarAnswer {
  const content = partOf(response.content);
  const mime = textIn(content.mimeType) ?? '';
  // x-unknown stands for no type in Chrome and Safari.
  const type = /^(?:|x-unknown)$/.test(mime) ? headerIn(pairsOf(response.headers), 'content-type') : mime;
  return { status: Number(response.status) || 0, type: mediaType(type), text: contentText(content) };
}

function contentText({ text, encoding }: JsonPart): string | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  return encoding === 'base64' ? textOfBase64(text) : text;
}

function textOfBase64(text: string): string | undefined {
  const bytes = bytesOfBase64(text.replace(/\s+/g, ''));
  if (bytes === undefined) return undefined;
  return orUndefined(() => new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0))));
}

const pageParts =
  /^(?:image|script|stylesheet|font|media|texttrack|manifest|ping|beacon|preflight|websocket|webtransport|eventsource|csp-?violation-?report|signed-?exchange|prefetch)$/i;
const pageDestinations =
  /^(?:audio|audioworklet|embed|font|image|manifest|object|paintworklet|report|script|serviceworker|sharedworker|style|track|video|worker|xslt)$/i;
/** These services measure visitors, and their requests look like those of an API. */
const trackers =
  /(?:^|\.)(?:google-analytics\.com|analytics\.google\.com|googletagmanager\.com|doubleclick\.net|segment\.(?:io|com)|mixpanel\.com|amplitude\.com|hotjar\.(?:com|io)|clarity\.ms|fullstory\.com|sentry\.io|nr-data\.net|bugsnag\.com|datadoghq\.(?:com|eu)|facebook\.com\/tr)$/i;

type Sent = Pick<HarEntry, 'method' | 'url' | 'headers' | 'answer'>;

function isCall(entry: JsonPart, { method, url, headers, answer }: Sent): boolean {
  if (!/^https?:\/\/[^/]/i.test(url) || /^(?:CONNECT|TRACE)$/.test(method)) return false;
  const header = (name: string) => headerIn(headers, name);
  if (method === 'OPTIONS' && (header('access-control-request-method') !== '' || answer.text === undefined)) return false;
  if (pageParts.test(String(entry._resourceType ?? '')) || pageDestinations.test(header('sec-fetch-dest'))) return false;
  if (header('ping-to') !== '' || /^(?:text\/ping|application\/(?:csp-report|reports\+json))/i.test(header('content-type'))) return false;
  // A beacon can have no headers that would need a preflight, and nobody reads its answer.
  if (method === 'POST' && /^no-cors$/i.test(header('sec-fetch-mode'))) return false;
  return !trackers.test(/^https?:\/\/(?:[^/?@]*@)?([^/?:]*)/i.exec(url)?.[1] ?? '');
}

const jsonType = /[/+](?:x-)?(?:nd)?json(?:lines|-seq)?$|^application\/x-amz-json-/;
const xmlType = /[/+]xml$/;
const otherType =
  /^image\/|^(?:audio|video|font)\/|manifest\+json|importmap|speculationrules|xhtml|dash\+xml|javascript|ecmascript|^text\/css|event-stream/;

function kindOf(
  { method, headers, postData, answer }: Pick<HarEntry, 'method' | 'headers' | 'postData' | 'answer'>,
  entry: JsonPart,
): HarEntry['kind'] {
  const { type, text = '' } = answer;
  if (otherType.test(type)) return undefined;
  const sent = sentType(headers, postData);
  const stated = dataKind(type) ?? dataKind(sent);
  if (stated) return stated;
  if (sent === formType || sent === 'multipart/form-data') return 'form';
  if (!/html/.test(type) && isJson(text)) return 'JSON';
  if (type !== '' && text !== '') return undefined;
  const isCall =
    /json/i.test(headerIn(headers, 'accept')) || (isBare(answer) && (changes.test(method) || (isScript(entry, headers) && sent === '')));
  return isCall ? 'JSON' : undefined;
}

const changes = /^(?:PUT|PATCH|DELETE)$/;

/** An answer without a body, such as 204 or 304, has no type. */
function isBare({ type, text = '', status }: HarAnswer): boolean {
  return text === '' && (type === '' || status === 204 || status === 304);
}

function isScript({ _resourceType: type }: JsonPart, headers: readonly WrittenHeader[]): boolean {
  return /^(?:xhr|fetch)$/i.test(String(type ?? '')) || headerIn(headers, 'x-requested-with') !== '';
}

function dataKind(type: string): 'JSON' | 'XML' | undefined {
  if (jsonType.test(type)) return 'JSON';
  return xmlType.test(type) ? 'XML' : undefined;
}

function isJson(text: string): boolean {
  return /^\s*[[{]/.test(text) && orUndefined(() => JSON.parse(text)) !== undefined;
}

function sentType(headers: readonly WrittenHeader[], postData: JsonPart): string {
  return mediaType(textIn(postData.mimeType) || headerIn(headers, 'content-type'));
}

function addSecretsOf(entry: JsonPart, known: KnownSecrets): void {
  const request = partOf(entry.request);
  const response = partOf(entry.response);
  for (const [name, value] of [...pairsOf(request.headers), ...pairsOf(response.headers)]) addSecretHeader(name, value, known);
  for (const [name, value] of [...pairsOf(request.cookies), ...pairsOf(response.cookies)]) addCookie(name, value, known);
  const url = textIn(request.url) ?? '';
  addSecretPairs(url.split(/[?#]/).slice(1).join('&'), known);
  known.add(passwordIn(url));
  const postData = partOf(request.postData);
  const sent = textIn(postData.text) ?? '';
  if (/^\s*[\w.%+-]+=/.test(sent)) addSecretPairs(sent, known);
  for (const [name, value] of pairsOf(postData.params)) if (isPossiblySecret(name, 'body', value, true)) known.add(value);
  addSecretsIn(sent, known);
  const content = partOf(response.content);
  if (!/^(?:image|font|audio|video)\//.test(textIn(content.mimeType) ?? '')) addSecretsIn(contentText(content) ?? '', known);
}

/** Headers that browsers and monitoring scripts add. The conditional ones would lead to an answer without a body. */
const browserHeaders =
  /^(?:sec-.*|user-agent|accept-(?:encoding|language|charset)|origin|referer|dnt|priority|pragma|cache-control|upgrade-insecure-requests|if-none-match|if-modified-since|x-client-data|save-data|rtt|downlink|ect|device-memory|dpr|width|viewport-width|alt-used|proxy-.*|purpose|http2-settings|x-browser-.*|traceparent|tracestate|baggage|sentry-trace|newrelic|x-datadog-.*|x-b3-.*|b3|cookie2)$/i;

/** Throws an AutomateError (`usage`) if no flow can send the request. */
export function recordedRequest({ method, url, headers, postData }: HarEntry): RequestWithNotes {
  const kept = headers.filter(([name, value]) => !browserHeaders.test(name) && !(/^accept$/i.test(name) && /text\/html/i.test(value)));
  const signature = computedAuth(kept);
  const own = signature ? kept.filter(([name]) => !signature.headers.test(name)) : kept;
  const { part, notes } = sendableBody(bodyOf(postData, own), method);
  return {
    request: { method, url, headers: own, ...(signature && { auth: [signature.auth] }), ...part },
    notes: [...notes, ...(signature ? [signature.note] : [])],
  };
}

/** A signature cannot be sent again, so the flow has to make its own. */
function computedAuth(
  headers: readonly WrittenHeader[],
): { readonly auth: WrittenAuth; readonly note: string; readonly headers: RegExp } | undefined {
  const value = headerIn(headers, 'authorization');
  const aws = /^AWS4-HMAC-SHA256\s+Credential=[^/,\s]+\/\d+\/([\w-]+)\/([\w-]+)\/aws4_request/i.exec(value);
  if (aws)
    return {
      auth: { type: 'aws_sigv4', service: aws[2] as string, region: aws[1] as string, credential: 'aws' },
      note: 'the request is signed for AWS: store ACCESS_KEY_ID:SECRET_ACCESS_KEY as the credential aws',
      headers: /^(?:authorization|x-amz-(?:date|security-token|content-sha256|user-agent)|amz-sdk-.*)$/i,
    };
  if (!/^digest\s/i.test(value)) return undefined;
  const note = 'the server asks for a Digest login: store username:password as the credential digest-login';
  return { auth: { type: 'digest', credential: 'digest-login' }, note, headers: /^authorization$/i };
}

function bodyOf(postData: JsonPart, headers: readonly WrittenHeader[]): WrittenBody {
  const type = sentType(headers, postData);
  const written = textIn(postData.text) ?? '';
  const text = postData.encoding === 'base64' || postData._encoding === 'base64' ? (textOfBase64(written) ?? '') : written;
  const params = listOf(postData.params).map(partOf);
  if (type === 'multipart/form-data') return multipartForm(text, params);
  if (text === '' && params.length > 0) return { ...noBody, part: { form: formOfParams(params) } };
  if (text === '') {
    const isLost = type !== '' || written !== '' || Number(headerIn(headers, 'content-length')) > 0;
    return { ...noBody, notes: isLost ? ['the recording does not contain the body of the request: write body into the flow'] : [] };
  }
  if (type !== formType) return { ...noBody, part: isJson(text) ? { body: text } : { text } };
  const form = formIn(text);
  return { ...noBody, part: form ? { form } : { text } };
}

/** Browsers differ in this list: some percent-decode the values. */
function formOfParams(params: readonly JsonPart[]): Record<string, unknown> {
  const form = params.map(({ name, value }) =>
    [name, value].map((part) => encodeURIComponent(percentDecoded(String(part ?? '')))).join('='),
  );
  return formIn(form.join('&')) ?? {};
}

/** The parts come from the text of the body, or from `params`, as recordings have often only one of them. */
function multipartForm(text: string, params: readonly JsonPart[]): WrittenBody {
  const parts = params.length > 0 ? params.map(({ name, value, fileName }) => ({ name, value, file: fileName })) : partsOfText(text);
  if (parts.length === 0) return { ...noBody, notes: ['the recording does not contain the form of the request: write form into the flow'] };
  return formOfParts(
    parts.map(({ name, value, file }) => ({ name: String(name), value: String(value ?? ''), file: textIn(file) || undefined })),
  );
}

function partsOfText(text: string) {
  const boundary = /^\s*(--[^\r\n]+)/.exec(text)?.[1];
  if (boundary === undefined) return [];
  return text.split(boundary).flatMap((part) => {
    const [head = '', value = ''] = part.split(/\r?\n\r?\n(.*)/s);
    const name = /\bname="([^"]*)"/i.exec(head)?.[1];
    return name === undefined ? [] : [{ name, value: value.replace(/\r?\n$/, ''), file: /\bfilename="([^"]*)"/i.exec(head)?.[1] }];
  });
}

export interface RecordedPart {
  readonly name: string;
  readonly value: string;
  /** The name of the file that is sent; undefined if the part is a text. */
  readonly file: string | undefined;
}

/** Repeated names become lists. */
export function formOfParts(parts: readonly RecordedPart[]): WrittenBody {
  const form = new Map<string, unknown[]>();
  for (const { name, value, file } of parts) form.set(name, [...(form.get(name) ?? []), file === undefined ? value : { file }]);
  const files = parts.flatMap(({ file }) => (file === undefined ? [] : [file]));
  const note =
    files.length > 0
      ? `the form sends the content of ${files.map((file) => JSON.stringify(file)).join(', ')}: write the path of your file in its place`
      : 'the form was sent as multipart/form-data; a flow sends a form without files as application/x-www-form-urlencoded';
  const part = { form: Object.fromEntries([...form].map(([name, values]) => [name, values.length === 1 ? values[0] : values])) };
  return { ...noBody, part, notes: [note] };
}
