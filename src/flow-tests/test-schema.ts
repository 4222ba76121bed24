import * as z from 'zod';
import { failureClasses } from '../core/failure.ts';
import { duration } from '../core/options/amounts.ts';
import { fieldName, headerName, name, plainValue } from '../core/options/names.ts';
import { describedAs, dictionary } from '../core/value/dictionary.ts';

const text = z.string({ error: 'expected a string' });

const anyValue = z.unknown();

const fields = dictionary(fieldName, anyValue);

const textByName = dictionary(headerName, plainValue);

const requestKinds = {
  http: z.string().regex(/^(?:GET|POST|PUT|PATCH|DELETE) https?:\/\/\S+$/),
  mcp: z.string().regex(/^mcp [^\s/]+\/\S+$/),
  llm: z.string().regex(/^llm \S+$/),
};

type RequestKind = keyof typeof requestKinds;

export function requestKind(request: string): RequestKind | undefined {
  return (Object.keys(requestKinds) as RequestKind[]).find((kind) => requestKinds[kind].safeParse(request).success);
}

const requestHelp = 'the method and the URL, mcp CONNECTION/TOOL, or llm NODE';

const sent = z.strictObject({
  headers: textByName.optional().describe('headers that the request must have'),
  body: anyValue.optional().describe('the body that the request must have; if you write a mapping, only its keys are compared'),
});

const faults = ['timeout', 'refused', 'reset', 'unknown_host'] as const;

const answerOptions = {
  status: z.int().min(200).max(599).optional().describe('the status of the answer (default: 200)'),
  headers: textByName.optional().describe('headers of the answer; the content-type is application/json if body is not a string'),
  body: anyValue.optional().describe('the body: a string is sent as it is, anything else as JSON; for a tool, its structured content'),
  sent: sent.optional().describe('what the request must contain'),
  fault: z
    .enum(faults)
    .optional()
    .describe('instead of an answer: a timeout, a connection that is refused or reset, or a host that is not known'),
  text: text.optional().describe('the text that a tool returns, or the answer of a language model'),
  error: text.optional().describe('the error text of a tool that failed'),
  arguments: fields.optional().describe('the arguments that a call of the tool must have'),
  output: anyValue.optional().describe('the answer of a language model, as JSON'),
};

const { status, headers, body, fault } = answerOptions;

/** The options that an answer may have in addition to `request`. An answer may use only the options of one object in the list. */
const answerKinds = {
  http: [
    { status, headers, body, sent: answerOptions.sent },
    { fault, sent: answerOptions.sent },
  ],
  mcp: [
    { arguments: answerOptions.arguments, body, text: answerOptions.text },
    { arguments: answerOptions.arguments, error: answerOptions.error },
    { arguments: answerOptions.arguments, fault },
  ],
  llm: [
    { text: answerOptions.text, sent: answerOptions.sent },
    { output: answerOptions.output, sent: answerOptions.sent },
    { status, headers, body, sent: answerOptions.sent },
    { fault, sent: answerOptions.sent },
  ],
} satisfies Record<RequestKind, readonly z.ZodRawShape[]>;

const answerVariants = (Object.keys(requestKinds) as RequestKind[]).flatMap((kind) =>
  answerKinds[kind].map((options) => z.strictObject({ request: requestKinds[kind].describe(requestHelp), ...options })),
);

const expectedRequest = 'expected a method and a URL such as GET https://api.example.com/users/17, mcp CONNECTION/TOOL, or llm NODE';

/** @internal */
export const answerSchema = describedAs(
  z.strictObject({ request: text.describe(requestHelp), ...answerOptions }).superRefine(({ request, ...options }, context) => {
    const kind = requestKind(request);
    if (!kind)
      return void context.addIssue({ code: 'custom', message: `${expectedRequest}, found ${JSON.stringify(request)}`, path: ['request'] });
    const given = Object.keys(options).filter((option) => options[option as keyof typeof options] !== undefined);
    const variants: readonly object[] = answerKinds[kind];
    if (variants.some((variant) => given.every((option) => Object.hasOwn(variant, option)))) return;
    const foreign = given.find((option) => !variants.some((variant) => Object.hasOwn(variant, option)));
    const owner = { http: 'an HTTP request', mcp: 'a tool', llm: 'a language model' }[kind];
    const message = foreign === undefined ? `these cannot be combined: ${given.join(', ')}` : `the answer of ${owner} has no ${foreign}`;
    context.addIssue({ code: 'custom', message, path: [foreign ?? (given.at(-1) as string)], params: { isName: true } });
  }),
  z.union(answerVariants),
);

const failure = z.strictObject({
  node: text.optional().describe('the id of the node that fails'),
  class: z.enum(failureClasses).optional().describe('the class of the failure, as in the errors file'),
  status: z.int().optional().describe('the HTTP status'),
  message: text.optional().describe('the message; text between slashes is a regular expression'),
});

const failures = z.union([failure, z.array(failure)], { error: 'expected a mapping such as { class: http }, or a list of them' });

const rows = z.array(fields, { error: 'expected a list of rows' });

const options = z.strictObject({
  allow_http: z.boolean().optional().describe('allow http:// URLs to other machines'),
  var: dictionary(name, plainValue).optional().describe('values of the variables of the flow'),
});

const recordHelp = 'the fields of the record';
const recordsHelp = 'several records, instead of record';
const failsHelp = 'the failure of the record; a list for several records';

const testOptions = {
  name: text.min(1, 'expected a name, found an empty string').describe('what the test shows, in words'),
  record: fields.optional().describe(recordHelp),
  records: z.array(fields).min(1).optional().describe(recordsHelp),
  set: dictionary(fieldName, plainValue).optional().describe('fields that every record gets before the first node'),
  env: name.optional().describe('the environment of the variables'),
  options: options.optional().describe('options of the run'),
  answers: z.array(answerSchema, { error: 'expected a list of answers' }).default([]).describe('the answers of the servers'),
  rows: rows.optional().describe('the expected rows; only the fields that you write are compared; [] for a record that is dropped'),
  rows_exactly: rows.optional().describe('the expected rows, with these fields and no others'),
  fails: failures.optional().describe(failsHelp),
  waits: z.array(duration).optional().describe('the expected waits between attempts, in order'),
};

const { name: testName, record: _record, records, fails, ...others } = testOptions;
const { rows: someRows, rows_exactly: exactRows, ...common } = others;
const ofOne = { name: testName, record: describedAs(fields.describe(recordHelp), z.record(fieldName, anyValue)), ...common };
const ofSeveral = { name: testName, records: records.unwrap().describe(recordsHelp), ...common, fails };

const testVariants = [
  z.strictObject({ ...ofOne, rows: someRows }),
  z.strictObject({ ...ofOne, rows_exactly: exactRows }),
  z.strictObject({ ...ofOne, fails: failure.optional().describe(failsHelp) }),
  z.strictObject({ ...ofSeveral, rows: someRows }),
  z.strictObject({ ...ofSeveral, rows_exactly: exactRows }),
];

/** @internal */
export const testSchema = describedAs(
  z.strictObject(testOptions).superRefine((written, context) => {
    const has = (option: keyof typeof written) => written[option] !== undefined;
    const wrongOption = (option: string, message: string) =>
      context.addIssue({ code: 'custom', message, path: [option], params: { isName: true } });
    const isOne = has('record');
    if (!isOne && !has('records')) context.addIssue({ code: 'custom', message: 'expected record or records, found neither', path: [] });
    if (isOne && has('records')) wrongOption('records', 'expected record or records, found both');
    if (has('rows') && has('rows_exactly')) wrongOption('rows_exactly', 'expected rows or rows_exactly, found both');
    if (!isOne || !has('fails')) return;
    if (has('rows') || has('rows_exactly')) wrongOption('fails', 'one record has rows or fails, not both');
    if (Array.isArray(written.fails)) wrongOption('fails', 'expected the failure of one record, found a list; a list needs records');
  }),
  z.union(testVariants),
);

export const testFileSchema = z.strictObject(
  {
    flow: text.min(1, 'expected the path of a flow, found an empty string').describe('the flow, by its path from this file'),
    tests: z
      .array(testSchema, { error: 'expected a list of tests' })
      .min(1, 'expected at least one test')
      .describe('the tests, which run one after another'),
  },
  { error: 'expected a mapping with the keys flow and tests' },
);

export type FlowTest = z.output<typeof testSchema>;

export type TestAnswer = z.output<typeof answerSchema>;

export type ExpectedFailure = z.output<typeof failure>;

export type Fault = (typeof faults)[number];
