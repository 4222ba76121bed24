import * as z from 'zod';
import { credentialName, headers } from '../options/names.ts';
import { didYouMean } from '../text/suggest.ts';
import { dictionary } from '../value/dictionary.ts';
import { type CurlText, credentialFor, credentialPart, curlSecrets, defineAuthType, type Signature } from './auth-type.ts';

/** The placeholders of `of`, `headers` and `query`. `header` takes the name of a header, as in `{header:Content-Type}`. */
const names = [
  ...['method', 'url', 'host', 'path', 'path_and_query', 'query', 'body', 'body_sha256', 'body_md5_base64', 'timestamp', 'nonce'],
  ...['header', 'signature'],
] as const;

export type Placeholder = (typeof names)[number];

/** A piece of a template: text, or a placeholder. `of` is the name of the header of `{header:NAME}`. */
export type HmacPiece = string | { readonly name: Placeholder; readonly of: string };

const placeholder = /\{([A-Za-z]\w*)(?::([^{}]*))?\}/g;

/** Braces around anything but a word are text, so that a template can contain JSON. Unknown placeholders are left as text. */
export function hmacPieces(template: string): readonly HmacPiece[] {
  const pieces: HmacPiece[] = [];
  let done = 0;
  for (const { 0: whole, 1: name, 2: of = '', index } of template.matchAll(placeholder)) {
    if (!isPlaceholder(name)) continue;
    pieces.push(template.slice(done, index), { name, of });
    done = index + whole.length;
  }
  return [...pieces, template.slice(done)].filter((piece) => piece !== '');
}

function isPlaceholder(name: string | undefined): name is Placeholder {
  return names.some((known) => known === name);
}

/** Computed values are the same for all places of a request, so `sign` and curl only need their names. */
function problemOf(template: string, place: 'of' | 'headers' | 'query'): string | undefined {
  if (/\{\{/.test(template))
    return 'a signature cannot refer to fields of the record: {body}, {path} and {query} are the request as it is sent';
  for (const [, name = '', of] of template.matchAll(placeholder)) {
    const known = names
      .filter((one) => (place === 'of' ? one !== 'signature' : one !== 'header'))
      .map((one) => (one === 'header' ? 'header:NAME' : one));
    if (!isPlaceholder(name) || (name === 'signature' && place === 'of') || (name === 'header' && place !== 'of'))
      return `no placeholder {${name}} in ${place}${didYouMean(name, known) || `; expected ${known.map((one) => `{${one}}`).join(', ')}`}`;
    if ((name === 'header') !== (of !== undefined))
      return name === 'header' ? 'expected the name of a header, as in {header:Content-Type}' : `expected {${name}}, found {${name}:${of}}`;
    if (name === 'header' && of === '') return 'expected the name of a header, as in {header:Content-Type}';
  }
  return undefined;
}

const values = (place: 'headers' | 'query') =>
  (place === 'headers' ? headers : dictionary(z.string().min(1, 'expected the name of a query parameter'), z.string())).superRefine(
    (written, { addIssue }) => {
      for (const [name, value] of Object.entries(written)) {
        const message = problemOf(value, place);
        if (message !== undefined) addIssue({ code: 'custom', message, path: [name] });
      }
    },
  );

export const hmac = defineAuthType({
  type: 'hmac',
  label: 'a signature that the API describes (HMAC)',
  options: z
    .strictObject({
      type: z.literal('hmac'),
      credential: credentialName.describe('the name of the credential that holds the secret with which requests are signed'),
      algorithm: z.enum(['sha1', 'sha256', 'sha384', 'sha512']).default('sha256').describe('the hash function'),
      of: z
        .string()
        .min(1, 'expected the text that is signed, such as "{method}\\n{path}\\n{timestamp}\\n{body}"')
        .superRefine((written, { addIssue }) => {
          const message = problemOf(written, 'of');
          if (message !== undefined) addIssue({ code: 'custom', message });
        })
        .describe(
          'the text that is signed, with placeholders: {method}, {url}, {host}, {path}, {path_and_query}, {query}, {body}, {body_sha256}, {body_md5_base64}, {timestamp}, {nonce}, {header:NAME}',
        ),
      encoding: z.enum(['hex', 'base64', 'base64url']).default('hex').describe('how the signature is written'),
      timestamp: z
        .enum(['unix', 'unix_ms', 'iso'])
        .default('unix')
        .describe('the form of {timestamp}: seconds or milliseconds since 1970, or a date such as 2026-11-25T10:30:00.000Z'),
      key_encoding: z
        .enum(['base64', 'hex'])
        .optional()
        .describe('how to decode the secret before it is used, if it is written in base64 or hex'),
      headers: values('headers').optional().describe('the headers to add, with placeholders; {signature} is the signature'),
      query: values('query').optional().describe('the query parameters to add, with placeholders; {signature} is the signature'),
    })
    .superRefine(({ headers = {}, query = {} }, { addIssue }) => {
      const isSent = [...Object.values(headers), ...Object.values(query)].some((value) => value.includes('{signature}'));
      const message = 'expected {signature} in headers or query: without it, the signature is not sent';
      if (!isSent) addIssue({ code: 'custom', message });
    })
    .transform(({ key_encoding: keyEncoding, headers = {}, query = {}, ...options }) => ({ ...options, keyEncoding, headers, query })),
  parts: {
    of: {
      question: 'Text that is signed, such as {method}{path}{timestamp}{body}',
      example: '{method}{path}{timestamp}{body}',
    },
    headers: { question: 'Headers to add, such as X-Signature={signature}', example: 'X-Signature={signature}', isMapping: true },
    query: { isMapping: true },
    credential: credentialPart('the secret', 'crm-secret', 'secret'),
    algorithm: {},
    encoding: {},
    timestamp: {},
    key_encoding: {},
  },
  from: 'request',
  credentials: ({ credential }, origin) => [credentialFor(credential, origin)],
  sign({ headers, query }, shown): Signature {
    const filled = (value: string) => value.replaceAll('{signature}', shown);
    // Placeholders stay readable: this URL is only shown, and compared in tests of flows.
    const shownInQuery = (value: string) => encodeURIComponent(filled(value)).replace(/%7B(\w+)%7D/g, '{$1}');
    const parameters = Object.keys(query);
    return {
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, filled(value)])),
      ...(parameters.length > 0 && {
        query: parameters.map((name) => `${encodeURIComponent(name)}=${shownInQuery(query[name] as string)}`).join('&'),
        parameters,
      }),
    };
  },
  curl({ headers, query }) {
    const used = new Set<string>();
    const textOf = (template: string): CurlText =>
      hmacPieces(template).map((piece) => {
        if (typeof piece === 'string') return piece;
        used.add(piece.name);
        return { variable: piece.name.toUpperCase() };
      });
    const [first, ...more] = curlSecrets({ headers, query }, textOf);
    const variables = [...used].map((name) => name.toUpperCase()).join(', ');
    return first === undefined ? [] : [{ ...first, note: `curl does not compute the signature: set ${variables} for it` }, ...more];
  },
});
