import { join } from 'node:path';
import type { ActionRequest } from '../../core/action.ts';
import { type Auth, curlSecret, shownSignature } from '../../core/auth/auth.ts';
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

/** Shows `***` in place of every secret. */
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
  return passphrase === undefined ? words : [...words, '--pass', withVariable('', credentialVariable(passphrase))];
}

/** Some variables must contain an access token instead of the stored secret, because curl cannot request tokens. */
export function curlNotes({ auth = [] }: HttpRequest): string[] {
  const tokens = auth.map((one) => curlSecret(one, credentialVariable(one.credential)).variable);
  const isToken = (variable: string, index: number) => variable !== credentialVariable((auth[index] as Auth).credential);
  return tokens.filter(isToken).map((variable) => `curl does not request an access token: set ${variable} to one`);
}

function curlAuth(auth: Auth, hasBody: boolean): string[] {
  const { in: place, before, variable } = curlSecret(auth, credentialVariable(auth.credential));
  const word = withVariable(before, variable);
  if (place === 'query') return hasBody ? ['--url-query', word] : ['-G', '--data-urlencode', word];
  return [place === 'user' ? '-u' : '-H', word];
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
  const marked = String(secretBody.render((credential) => `${mark}${secretBody.credentials.indexOf(credential)}.`));
  const pieces = marked.split(new RegExp(`${mark}(\\d+)\\.`));
  const variable = (index: string) => `"$${credentialVariable(secretBody.credentials[Number(index)] as string)}"`;
  return pieces.map((piece, index) => (index % 2 === 1 ? variable(piece) : piece === '' ? '' : shellWord(piece))).join('');
}

function withVariable(text: string, variable: string): string {
  return /[\\"$`!]/.test(text) ? `${shellWord(text)}"$${variable}"` : `"${text}$${variable}"`;
}
