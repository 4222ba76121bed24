import * as z from 'zod';
import type { ResponseMode } from '../../core/answer/response.ts';
import { auth, authNames } from '../../core/auth/auth.ts';
import { byteSize, concurrency, credits, duration, exactNumber, rate, timeout } from '../../core/options/amounts.ts';
import { path } from '../../core/options/expressions.ts';
import { headers, name } from '../../core/options/names.ts';
import { defaultRetry, retry } from '../../core/options/retry.ts';
import { referencedFields } from '../../core/template/template.ts';
import { dictionary } from '../../core/value/dictionary.ts';
import { ruleOptions } from '../answer-rules.ts';
import { map, whenEmpty } from '../call-policy.ts';
import { batchOptions } from './batch-options.ts';
import { paginateOptions } from './paginate-options.ts';

const status = z.union([z.int().min(100).max(599), z.enum(['1xx', '2xx', '3xx', '4xx', '5xx'])], {
  error: 'expected a status such as 200, or a class such as 2xx',
});

const formFile = z.strictObject({
  file: z.string().describe('the path of a file, with {{field}}'),
  name: z.string().optional().describe('its name for the server; by default its own'),
  content_type: z.string().optional().describe('its content type, such as application/pdf; by default the one of its ending'),
});

const formScalar = z.union(
  [
    z.string(),
    z.number(),
    exactNumber,
    z.boolean(),
    z.null(),
    z.strictObject({ cel: z.string() }),
    z.strictObject({ credential: z.string() }),
    formFile,
  ],
  { error: 'expected a text with {{field}}, a number, true, false, null, { file: PATH }, { cel: EXPRESSION } or { credential: NAME }' },
);

const formValue = z.union([formScalar, z.array(formScalar)], {
  error:
    'expected a text with {{field}}, a number, true, false, null, a list of these, { file: PATH }, { cel: EXPRESSION } or { credential: NAME }',
});

const expectedKey = 'expected true, false or a text with {{field}}';

/** A text without a field is refused: with one key for all records, a server would take them for one. */
const idempotencyKey = z.union(
  [
    z.boolean(),
    z
      .string()
      .refine((text) => referencedFields(text).length > 0, { error: ({ input }) => `${expectedKey}, found ${JSON.stringify(input)}` }),
  ],
  { error: expectedKey },
);

/** The options of an HTTP Request node. */
export const httpOptions = z.strictObject({
  connection: name
    .optional()
    .describe('a connection of the flow, or a saved one: base_url, auth, headers, rate and concurrency come from it'),
  auth: auth
    .optional()
    .describe(`${authNames.slice(0, -1).join(', ')} or ${authNames.at(-1)}, with the name of a credential; or a list of up to four`),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET').describe('PUT and PATCH have a body, as POST has'),
  url: z.string().describe("absolute, or relative to the connection's base_url; {{field}} inserts a field"),
  headers: headers.optional().describe('names to values, with {{field}}'),
  body: z
    .union([z.string(), dictionary(z.string(), z.unknown()), z.array(z.unknown())], {
      error: 'expected a mapping, a list, or JSON text',
    })
    .optional()
    .describe(
      'only for POST, PUT and PATCH: a mapping or list sent as JSON, where { credential: NAME } is a secret and { cel: EXPRESSION } its result; or JSON text',
    ),
  form: dictionary(z.string(), formValue)
    .optional()
    .describe(
      'instead of body: names to values, sent as application/x-www-form-urlencoded; a list repeats its name; with { file: PATH }, which sends a file, as multipart/form-data',
    ),
  text: z.string().optional().describe('instead of body: a text with {{field}}, sent as text/plain unless headers say otherwise'),
  timeout: timeout.prefault('30s').describe('one limit for the whole request'),
  retry: retry.prefault(defaultRetry).describe('when and how often a request is sent again'),
  rate: rate.optional().describe('maximum rate of requests, such as 10/s'),
  concurrency: concurrency
    .optional()
    .describe('requests in flight at once; 16 unless the connection says otherwise; auto: the run finds the number'),
  success: z.array(status).min(1).default(['2xx']).describe('statuses that count as success; a redirect among them is not followed'),
  follow: z.enum(['same-origin', 'any']).default('same-origin').describe('redirects to follow'),
  ...ruleOptions(['status', 'headers', 'body', 'record']),
  answer: z
    .enum(['auto', 'json', 'xml', 'csv', 'text'])
    .default('auto')
    .describe('how the body is read; auto: as JSON, XML or CSV if its content type says so, as JSON if it looks like it, else as text'),
  response: z.enum(['auto', 'json', 'text']).optional().describe('the earlier name of answer'),
  save: z
    .strictObject({
      to: z.string().describe('the path of the file, with {{field}}; missing folders are made'),
      replace: z.boolean().default(false).describe('replace a file that exists; otherwise the record fails'),
    })
    .optional()
    .describe('write the body of a successful answer to a file, and add saved.path and saved.bytes'),
  max_body: byteSize.prefault('10MB').describe('maximum size of the body, decompressed; a body that is saved has none'),
  idempotency_key: idempotencyKey
    .default(false)
    .describe(
      'send Idempotency-Key, the same for every retry of a record; a text with {{field}} is the key itself, and the same in every run',
    ),
  map: map.optional().describe('the fields that the answer adds: a list of paths, or names to paths'),
  when_empty: whenEmpty,
  credits: credits.optional().describe('what one request costs; 1 unless the connection says otherwise'),
  cost: path.optional().describe('path in the answer to the real cost, such as $headers.x-credits-used'),
  paginate: paginateOptions.optional().describe('how the next page is requested: next_url, cursor, page, offset or link_header'),
  batch: batchOptions.optional().describe('one request for many records'),
  cache: duration.optional().describe('how long an answer is cached on disk for identical requests'),
});

/** The checked options of an HTTP Request node. */
export type HttpOptions = z.output<typeof httpOptions>;

/** The mode in which a node reads bodies. */
export function answerModeOf({ answer, response }: Pick<HttpOptions, 'answer' | 'response'>): ResponseMode {
  return response ?? answer;
}
