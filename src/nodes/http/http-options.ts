import * as z from 'zod';
import type { ResponseMode } from '../../core/answer/response.ts';
import { auth, authNames } from '../../core/auth/auth.ts';
import { byteSize, exactNumber } from '../../core/options/amounts.ts';
import { charset } from '../../core/options/charset.ts';
import { path } from '../../core/options/expressions.ts';
import { fieldName, headers, name } from '../../core/options/names.ts';
import { nearReferences, referencedFields } from '../../core/template/template.ts';
import { dictionary } from '../../core/value/dictionary.ts';
import { ruleOptions } from '../answer-rules.ts';
import { cacheOption, callOptions } from '../call-options.ts';
import { batchOptions } from './batch-options.ts';
import { paginateOptions } from './paginate-options.ts';

const status = z.union([z.int().min(100).max(599), z.enum(['1xx', '2xx', '3xx', '4xx', '5xx'])], {
  error: 'expected a status such as 200, or a class such as 2xx',
});

const formFile = z.strictObject({
  file: z.string().describe('the path of a file, with {{field}}'),
  name: z.string().optional().describe('the file name that is sent to the server (default: the name of the file)'),
  content_type: z.string().optional().describe('the content type, such as application/pdf (default: the usual one for its extension)'),
});

const formScalar = z.union(
  [
    z.string(),
    z.number(),
    exactNumber,
    z.boolean(),
    z.null(),
    z.strictObject({ cel: z.string().describe('an expression whose value is sent') }),
    z.strictObject({ credential: z.string().describe('the credential whose secret is sent') }),
    formFile,
  ],
  { error: 'expected text with {{field}}, a number, true, false, null, { file: PATH }, { cel: EXPRESSION } or { credential: NAME }' },
);

const formValue = z.union([formScalar, z.array(formScalar)], {
  error:
    'expected text with {{field}}, a number, true, false, null, a list of these, { file: PATH }, { cel: EXPRESSION } or { credential: NAME }',
});

const expectedKey = 'expected true, false or text with {{field}}';

function keyProblem(written: string): string {
  const names = nearReferences(written).length > 0 ? '\na name in {{ }} can contain only letters, digits and underscores' : '';
  return `${expectedKey}, found ${JSON.stringify(written)}${names}`;
}

/**
 * The option `idempotency_key`. A string without a field is rejected, because a server would treat all records as one if they had the same
 * key.
 */
const idempotencyKey = z.union(
  [z.boolean(), z.string().refine((text) => referencedFields(text).length > 0, { error: ({ input }) => keyProblem(String(input)) })],
  { error: expectedKey },
);

/** The options of an HTTP Request node. */
export const httpOptions = z.strictObject({
  connection: name
    .optional()
    .describe('a connection of the flow, or a saved one, that gives base_url, auth, headers, rate and concurrency'),
  auth: auth
    .optional()
    .describe(
      `how requests are authenticated: ${authNames.slice(0, -1).join(', ')} or ${authNames.at(-1)}, or a list of up to four (default: the connection's, or none)`,
    ),
  method: z
    .enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
    .default('GET')
    .describe('the HTTP method; only POST, PUT and PATCH have a body'),
  url: z.string().describe("the URL, absolute or relative to the connection's base_url; {{field}} inserts a field"),
  headers: headers.optional().describe('headers of the request: a mapping of names to values, with {{field}}'),
  body: z
    .union([z.string(), dictionary(z.string(), z.unknown()), z.array(z.unknown())], {
      error: 'expected a mapping, a list, or JSON text',
    })
    .optional()
    .describe(
      'the JSON body: a mapping, a list or JSON text; inside it { credential: NAME } is a secret and { cel: EXPRESSION } a computed value',
    ),
  form: dictionary(z.string(), formValue)
    .optional()
    .describe(
      'instead of body: fields of a form, sent as application/x-www-form-urlencoded, or as multipart/form-data if one of them is { file: PATH }; a list is sent as one field for each element, all with the same name',
    ),
  text: z
    .string()
    .optional()
    .describe(
      'instead of body: text with {{field}}, sent as text/plain unless headers say otherwise, and in the charset that they state; if Content-Type is an XML type, values are escaped for XML',
    ),
  raw: z
    .array(fieldName)
    .min(1)
    .optional()
    .describe('for text with an XML Content-Type: the fields that contain XML already, which are inserted without escaping'),
  ...callOptions,
  success: z.array(status).min(1).default(['2xx']).describe('the statuses that count as success; a redirect in this list is not followed'),
  follow: z.enum(['same-origin', 'any']).default('same-origin').describe('the redirects to follow: only those to the same origin, or any'),
  ...ruleOptions(['status', 'headers', 'body', 'record']),
  answer: z
    .enum(['auto', 'json', 'xml', 'csv', 'text'])
    .default('auto')
    .describe('how the body is read; auto follows the content type, and reads text that looks like JSON as JSON'),
  response: z.enum(['auto', 'json', 'text']).optional().describe('the older name of the option answer'),
  charset: charset
    .optional()
    .describe("the charset of answers that do not state one, such as windows-1252 (default: the connection's, or utf-8)"),
  save: z
    .strictObject({
      to: z.string().describe('the path of the file, with {{field}}; missing folders are created'),
      replace: z.boolean().default(false).describe('replace a file that exists; if false, the record fails'),
    })
    .optional()
    .describe('write the body of a successful answer to a file, and add the fields saved.path and saved.bytes'),
  max_body: byteSize.prefault('10MB').describe('maximum size of a decompressed body; no limit for a body that save writes to a file'),
  idempotency_key: idempotencyKey
    .default(false)
    .describe(
      'send the header Idempotency-Key: true makes one key for each record and all its retries; text with {{field}} is the key, which is then the same in every run',
    ),
  cost: path.optional().describe('the path of the real cost in the answer, such as $headers.x-credits-used'),
  paginate: z
    .union([z.literal('none'), paginateOptions], { error: 'expected none, or a mapping with the type of paging' })
    .transform((written) => (written === 'none' ? null : written))
    .optional()
    .describe('request further pages, and put their items together; none says that only the first page is meant'),
  batch: batchOptions.optional().describe('send many records in one request'),
  cache: cacheOption,
});

/** The checked options of an HTTP Request node. */
export type HttpOptions = z.output<typeof httpOptions>;

/** Returns the format in which a node reads bodies. */
export function answerModeOf({ answer, response }: Pick<HttpOptions, 'answer' | 'response'>): ResponseMode {
  return response ?? answer;
}
