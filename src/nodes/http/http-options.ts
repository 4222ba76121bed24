import * as z from 'zod';
import { announcedKinds } from '../../core/answer/document.ts';
import type { ResponseMode } from '../../core/answer/response.ts';
import { auth, authNames } from '../../core/auth/auth.ts';
import { byteSize, defaultRetry, exactNumber, retryWith } from '../../core/options/amounts.ts';
import { answerCondition, answerExpression, path } from '../../core/options/expressions.ts';
import { httpMethods } from '../../core/options/methods.ts';
import { charset, fieldName, headers, name } from '../../core/options/names.ts';
import { nearReferences, referencedFields } from '../../core/template/template.ts';
import { dictionary } from '../../core/value/dictionary.ts';
import { ruleOptions } from '../answer-rules.ts';
import { cacheOption, callOptions, meanings } from '../call-policy.ts';
import { schemaFile } from '../schema-option.ts';

const max = z.int().min(1).max(1_000_000).default(100).describe('maximum number of pages; if a record has more, it fails');
const nextPath = path.describe(
  "next_url, cursor: the path of the next page's URL or cursor in the answer, or in the last item with from: last_item; next_url also finds the URL in a list of links",
);
const param = z
  .string()
  .min(1, 'expected the name of a query parameter')
  .describe(
    'cursor, page, offset: the query parameter to set; with in: body, a path in the body such as variables.after (default: page or offset)',
  );
const items = path.describe(
  'the path of the list on a page, or $body if the page is the list; an empty list is the last page; required for page and offset',
);
const until = answerCondition(['status', 'headers', 'body', 'record'])
  .optional()
  .describe('a condition on status, headers, body and record, such as body.has_more == false: if it is true, the page is the last one');
const place = z
  .enum(['query', 'body'])
  .default('query')
  .describe('cursor, page, offset: where param is set, in the query or in the JSON body');
const wholeNumber = z.int().min(0).max(1_000_000_000);
const common = { max, until };
const linked = { ...common, items: items.optional() };

const kind = <Name extends string>(name: Name) => z.literal(name).describe('how an answer leads to the next page');

const paginateOptions = z.discriminatedUnion('type', [
  z.strictObject({ type: kind('next_url'), path: nextPath, ...linked }),
  z.strictObject({
    type: kind('cursor'),
    path: nextPath,
    param,
    from: z
      .enum(['answer', 'last_item'])
      .default('answer')
      .describe('cursor: where path begins, at the answer or at the last item of its list'),
    in: place,
    ...linked,
  }),
  z.strictObject({
    type: kind('page'),
    param: param.default('page'),
    in: place,
    start: wholeNumber.default(1).describe('page: the number of the first page'),
    items,
    ...common,
  }),
  z.strictObject({
    type: kind('offset'),
    param: param.default('offset'),
    in: place,
    size: z.int().min(1).max(1_000_000).describe('offset: the number of items on a full page'),
    items,
    ...common,
  }),
  z.strictObject({ type: kind('link_header'), ...linked }),
]);

export type PaginateOptions = z.output<typeof paginateOptions>;

const template = z.union([z.string(), z.number(), exactNumber, z.boolean(), z.null()], {
  error: 'expected text with {{field}}, or a value',
});

const batchOptions = z.strictObject({
  size: z.int().min(1).max(10_000).default(100).describe('maximum number of records in one request'),
  max_bytes: byteSize.optional().describe('maximum size of the body; a batch that would be larger has fewer records (default: no limit)'),
  items: z
    .union([z.string(), dictionary(z.string(), template)], { error: 'expected text with {{field}}, or a mapping of such strings' })
    .describe('what each record adds to the list {{items}} in the body'),
  match: z
    .strictObject({
      field: fieldName.describe('the field of the record with the value to match'),
      path: path.describe('the path of the same value in the elements of the answer, such as results[].id'),
    })
    .optional()
    .describe('find the answer of each record by a value, compared as text (default: by position)'),
  missing: z
    .enum(['error', 'keep'])
    .default('error')
    .describe('if the answer has nothing for a record: error fails it, keep leaves its fields empty'),
});

export type BatchOptions = z.output<typeof batchOptions>;

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
    z.strictObject({ session: z.string().describe('the value of a login that is sent') }),
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

/** A string without a field is rejected, because a server would treat all records with the same key as one. */
const idempotencyKey = z.union(
  [z.boolean(), z.string().refine((text) => referencedFields(text).length > 0, { error: ({ input }) => keyProblem(String(input)) })],
  { error: expectedKey },
);

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
    .enum(httpMethods, { error: 'expected an HTTP method such as GET, POST, PUT, PATCH, DELETE, HEAD or PROPFIND' })
    .default('GET')
    .describe('the HTTP method; GET, HEAD and DELETE have no body'),
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
  http2: z
    .boolean()
    .optional()
    .describe("use HTTP/2 if the server offers it (in the TLS handshake), otherwise HTTP/1.1 (default: the connection's, or false)"),
  ...callOptions,
  retry: retryWith({
    after: answerExpression(['status', 'headers', 'body'])
      .optional()
      .describe(
        'an expression for the seconds to wait, such as body.parameters.retry_after, if the server sends them in the body; it takes precedence over Retry-After',
      ),
  })
    .prefault(defaultRetry)
    .describe(meanings.retry),
  success: z
    .array(status)
    .min(1)
    .default(['2xx'])
    .describe(
      'the statuses that count as success; a redirect in this list is not followed; a body that cannot be read is an error only for a status in 2xx',
    ),
  follow: z.enum(['same-origin', 'any']).default('same-origin').describe('the redirects to follow: only those to the same origin, or any'),
  ...ruleOptions(['status', 'headers', 'body', 'record']),
  answer_schema: schemaFile
    .optional()
    .describe(
      'a file with a JSON Schema (draft 7 or 2020-12) that an answer must fit; its path is relative to the flow; retry_when and fail_when come first',
    ),
  answer: z
    .enum(['auto', 'json', ...announcedKinds, 'text'])
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

export type HttpOptions = z.output<typeof httpOptions>;

export function answerModeOf({ answer, response }: Pick<HttpOptions, 'answer' | 'response'>): ResponseMode {
  return response ?? answer;
}
