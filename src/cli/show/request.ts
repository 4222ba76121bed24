import { join } from 'node:path';
import type { ActionRequest } from '../../core/action.ts';
import { type Auth, curlSecrets, shownSignature } from '../../core/auth/auth.ts';
import type { CurlSecret, CurlText } from '../../core/auth/auth-type.ts';
import { isSession, sessionVariable } from '../../core/auth/session.ts';
import type { ClientCertificate } from '../../core/connection.ts';
import type { LookupRequest } from '../../core/lookup.ts';
import type { HttpRequest, HttpResponse, SecretOf } from '../../core/ports.ts';
import { withQuery } from '../../core/template/url.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import { isRemote, type ToolCall } from '../../core/tools.ts';
import type { FilePart, FormPart } from '../../core/transfer.ts';
import { jsonOf, textOf } from '../../core/value/value.ts';
import { credentialVariable } from '../../credentials/environment.ts';
import { certificateFiles } from '../../http/client-certificate.ts';
import { lookupQuestion, sourceOf } from '../../preview/preview.ts';

export function requestText(request: ActionRequest): string[] {
  if (!('kind' in request)) return httpText(request);
  return request.kind === 'lookup' ? lookupText(request) : callText(request);
}

function lookupText(request: LookupRequest): string[] {
  const query = Object.entries(lookupQuestion(request)).map(([name, value]) => `${name}: ${textOf(value)}`);
  return [sourceOf(request), `lookup: ${request.lookup}`, ...query];
}

function callText({ connection: { name, server }, tool, arguments: values }: ToolCall): string[] {
  return [`${tool} of ${name} (${isRemote(server) ? server.url : server.command.join(' ')})`, '', jsonOf(values)];
}

function httpText(request: HttpRequest): string[] {
  const { headers = {}, query } = request.auth ? shownSignature(request.auth) : {};
  return [
    `${request.method} ${request.origin}${withQuery(request.path, query)}`,
    ...Object.entries({ ...request.headers, ...headers }).map(([name, value]) => `${name}: ${value}`),
    ...(request.body === undefined ? [] : ['', request.body]),
    ...(request.form ? ['', ...request.form.map(formPartText)] : []),
    ...(request.save ? ['', `a successful answer is saved to ${request.save.to}`] : []),
  ];
}

function formPartText(part: FormPart): string {
  if (!('file' in part)) return `${part.name}: ${part.value}`;
  const { name, file, fileName, contentType } = part;
  const more = [...(fileName === undefined ? [] : [`as ${fileName}`]), ...(contentType === undefined ? [] : [contentType])];
  return `${name}: file ${file}${more.length === 0 ? '' : ` (${more.join(', ')})`}`;
}

/** The version that was spoken, for requests that ask for HTTP/2; otherwise empty. */
export function versionText({ httpVersion }: HttpResponse): string {
  return httpVersion === undefined ? '' : ` over HTTP/${httpVersion}`;
}

/** A curl command line that takes secrets from environment variables. `folder` is the folder of the files that flows send. */
export function curlText(request: HttpRequest, folder = ''): string {
  const { method, headers, body, form, secretBody, auth, clientCert, http2, save } = request;
  const url = request.origin + request.path;
  return [
    'curl',
    // With -X HEAD, curl would wait for a body.
    ...(method === 'GET' ? [] : method === 'HEAD' ? ['--head'] : ['-X', method]),
    // Without --globoff, curl would treat brackets in a URL as a range of URLs.
    ...(/[[\]{}]/.test(url) ? ['--globoff'] : []),
    // For curl, a header name followed by a semicolon means an empty value.
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', shellWord(value === '' ? `${name};` : `${name}: ${value}`)]),
    ...(http2 ? ['--http2'] : []),
    ...(clientCert ? certificateWords(clientCert) : []),
    ...(auth ?? []).flatMap((one) => curlAuth(one, body !== undefined || form !== undefined)),
    ...(body === undefined ? [] : ['--data-raw', bodyWord(body, secretBody)]),
    ...(form ? partWords(form, secretBody, folder) : []),
    ...(save ? ['--create-dirs', '-o', shellWord(join(folder, save.to))] : []),
    shellWord(url),
  ].join(' ');
}

/** Colons in the path are escaped, because curl takes the text after a colon as the passphrase. */
function certificateWords(certificate: ClientCertificate): string[] {
  const { cert, key } = certificateFiles(certificate);
  const { passphrase } = certificate;
  const words = ['--cert', shellWord(cert.replace(/[:\\]/g, '\\$&')), '--key', shellWord(key)];
  return passphrase === undefined ? words : [...words, '--pass', withVariables([{ variable: credentialVariable(passphrase) }])];
}

/** Tells what the user has to compute for curl, such as an access token. */
export function curlNotes({ auth = [] }: HttpRequest): string[] {
  return auth.flatMap((one) => curlSecretsOf(one).flatMap(({ note }) => note ?? []));
}

function curlSecretsOf(auth: Auth): readonly CurlSecret[] {
  return curlSecrets(auth, isSession(auth) ? '' : credentialVariable(auth.credential));
}

function curlAuth(auth: Auth, hasBody: boolean): string[] {
  return curlSecretsOf(auth).flatMap(({ in: place, text, options: [option, ...values] = [] }) => {
    const options = option === undefined ? [] : [`--${option}`, ...values];
    const word = withVariables(text);
    if (place === 'query') return [...options, ...(hasBody ? ['--url-query', word] : ['-G', '--data-urlencode', word])];
    return [...options, place === 'user' ? '-u' : '-H', word];
  });
}

function partWords(form: readonly FormPart[], secretBody: HttpRequest['secretBody'], folder: string): string[] {
  return form.flatMap((part, index) => {
    if ('file' in part) return ['-F', shellWord(`${part.name}=${fileWord(part, folder)}`)];
    const text = `${part.name}=${part.value}`;
    const withSecrets = secretBody && {
      ...secretBody,
      render: (secretOf: SecretOf) => {
        const own = (secretBody.render(secretOf) as readonly FormPart[])[index];
        return own && 'value' in own ? `${own.name}=${own.value}` : text;
      },
    };
    return ['--form-string', bodyWord(text, withSecrets)];
  });
}

function fileWord({ file, fileName, contentType }: FilePart, folder: string): string {
  const curlQuoted = (text: string) => (/[",;\\]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : text);
  const type = contentType === undefined ? '' : `;type=${contentType}`;
  return `@${curlQuoted(join(folder, file))}${type}${fileName === undefined ? '' : `;filename=${curlQuoted(fileName)}`}`;
}

/** Has variables in place of secrets. */
function bodyWord(body: string, secretBody: HttpRequest['secretBody']): string {
  if (!secretBody) return shellWord(body);
  let mark = 'variable-';
  while (body.includes(mark)) mark += '-';
  const names: string[] = [];
  const marked = String(
    secretBody.render((name, kind) => `${mark}${names.push(kind === 'session' ? sessionVariable(name) : credentialVariable(name)) - 1}.`),
  );
  const pieces = marked.split(new RegExp(`${mark}(\\d+)\\.`));
  const variable = (index: string) => `"$${names[Number(index)]}"`;
  return pieces.map((piece, index) => (index % 2 === 1 ? variable(piece) : piece === '' ? '' : shellWord(piece))).join('');
}

/** Braces around a variable keep it apart from letters after it. */
function withVariables(text: CurlText): string {
  const named = (piece: { readonly variable: string }, next: unknown) =>
    typeof next === 'string' && /^\w/.test(next) ? `\${${piece.variable}}` : `$${piece.variable}`;
  if (text.some((piece) => typeof piece === 'string' && /[\\"$`!]/.test(piece)))
    return text.map((piece) => (typeof piece === 'string' ? (piece === '' ? '' : shellWord(piece)) : `"$${piece.variable}"`)).join('');
  return `"${text.map((piece, index) => (typeof piece === 'string' ? piece : named(piece, text[index + 1]))).join('')}"`;
}
