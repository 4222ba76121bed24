import { AutomateError } from '../../core/failure.ts';
import { referableNames } from '../../core/template/template.ts';
import type { ValuePath } from '../../core/value/value.ts';
import { listOf, partOf, textIn } from '../json-parts.ts';
import type { Example } from '../starter-references.ts';
import { noBody, type WrittenBody, type WrittenHeader } from '../written-node.ts';
import { answerList, answerMap } from './answer-list.ts';
import { answerExample, isJson, parameterSamples, successfulAnswer } from './described-answer.ts';
import { type DescribedPaging, describedPaging } from './described-paging.ts';
import { type OpenApi, type OpenApiObject, type Operation, operationText } from './document.ts';
import { exampleValues, FieldNames, sampleOf, withFields } from './sample.ts';
import { securityOf } from './security.ts';

interface Records {
  readonly example: Example | undefined;
  /** True if all fields are strings, as in CSV. */
  readonly isText: boolean;
}

/** Throws an AutomateError (`input` or `usage`) if the file is invalid, or if no flow can send the request. */
export function operationRequest(document: OpenApi, operation: Operation, { example, isText }: Records) {
  const fields = new FieldNames(example);
  const server = serverOf(document, operation);
  const parameters = parametersOf(document, operation);
  const paging = pagingOf(document, operation, parameters);
  const others = parameters.filter(({ name, place }) => place !== 'query' || !paging?.parameters.includes(name));
  const url = server.url + filledPath(operation.path, fields) + queryOfOperation(others, fields, paging?.fixed);
  const { auth, credentials, notes } = securityOf(document, operation.part, server.url);
  const body = bodyOfOperation(document, operation, (value) => withFields(value, fields, isText));
  const headers = [...headersOfOperation(parameters, fields), ...body.headers];
  const mapped = answerMap(document, operation, [...[...referableNames(example?.columns ?? [])].flat(), ...fields.used]);
  const cookies = parameters.filter(({ place, isRequired }) => place === 'cookie' && isRequired);
  const paginate = mapped && paging?.paginate;
  const answer = answerExample(document, operation);
  return {
    request: { method: operation.method, url, headers, auth, ...body.part, paginate, map: mapped?.map },
    examples: body.examples,
    description: textIn(operation.part.summary)?.trim() || undefined,
    comments: [operationText(operation), ...optionalOnes(others)],
    notes: [
      ...server.notes,
      ...fields.notes,
      ...cookies.map(({ name }) => `the cookie "${name}", which the API requires, was left out`),
      ...body.notes,
      ...(mapped?.notes ?? []),
      ...(paginate ? [`it reads all pages of the list (type: ${paginate.type}); for the first page only, write paginate: none`] : []),
      ...notes,
    ],
    credentials,
    lacksColumns: fields.notes.length > 0,
    answer: answer && (paginate && paging ? { ...answer, ...paging.pages(answer.body) } : answer),
    samples: parameterSamples(document, listOf(operation.part.parameters)),
  };
}

/** From the `servers` of the operation, of its path or of the file, with the defaults of the server variables. */
function serverOf({ root, at, file }: OpenApi, { part }: Operation): { readonly url: string; readonly notes: readonly string[] } {
  const { url, variables } = at(listOf(part.servers)[0] ?? listOf(root.servers)[0]);
  const written = (textIn(url) ?? '').replace(/\{([^{}]*)\}/g, (_, name: string) => String(at(partOf(variables)[name]).default ?? name));
  const base = written.replace(/[?#].*$/s, '').replace(/\/+$/, '');
  if (/^https?:\/\//i.test(base)) return { url: base, notes: [] };
  return {
    url: `https://api.example.com${base.startsWith('/') ? base : ''}`,
    notes: [`${file} contains no host: replace api.example.com with the API's`],
  };
}

function pagingOf(document: OpenApi, operation: Operation, parameters: readonly Parameter[]): DescribedPaging | undefined {
  const answer = successfulAnswer(document, operation.part);
  const list = answer && answerList(document, operation, answer);
  if (!list) return undefined;
  return describedPaging(document, answer, { list: list.path, query: parameters.filter(({ place }) => place === 'query') });
}

interface Parameter {
  readonly name: string;
  readonly schema: OpenApiObject;
  readonly place: unknown;
  readonly isRequired: boolean;
  /** Undefined if the schema allows several values. */
  readonly only: string | undefined;
}

/** Returns the parameters of an operation and its path. If both have a parameter with the same name, uses the operation's. */
function parametersOf({ at, schema }: OpenApi, { part }: Operation): Parameter[] {
  const found = new Map<string, Parameter>();
  for (const parameter of listOf(part.parameters).map(at)) {
    const { name, in: place, required } = parameter;
    if (typeof name !== 'string') continue;
    const { enum: choices, const: fixed } = schema(parameter.schema);
    const values = fixed === undefined ? listOf(choices) : [fixed];
    found.set(`${place} ${name}`, {
      name,
      schema: schema(parameter.schema),
      place,
      isRequired: required === true,
      only: values.length === 1 ? String(values[0]) : undefined,
    });
  }
  return [...found.values()];
}

function filledPath(path: string, fields: FieldNames): string {
  return path.replace(/\{([^{}]+)\}/g, (_, name: string) => `{{${fields.needed(name)}}}`);
}

function queryOfOperation(
  parameters: readonly Parameter[],
  fields: FieldNames,
  fixed: readonly (readonly [name: string, value: number])[] = [],
): string {
  const required = parameters.filter(({ place, isRequired }) => place === 'query' && isRequired);
  const pairs = required.map(({ name, only }) => {
    return `${encodeURIComponent(name)}=${only === undefined ? `{{${fields.needed(name)}}}` : encodeURIComponent(only)}`;
  });
  pairs.push(...fixed.map(([name, value]) => `${encodeURIComponent(name)}=${value}`));
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** OpenAPI ignores parameters with these names, because other parts of the file describe them. */
const describedElsewhere = /^(?:accept|content-type|authorization)$/i;

function headersOfOperation(parameters: readonly Parameter[], fields: FieldNames): [string, string][] {
  return parameters
    .filter(({ name, place, isRequired }) => place === 'header' && isRequired && !describedElsewhere.test(name))
    .map(({ name, only }) => [name, only ?? `{{${fields.needed(name)}}}`]);
}

function optionalOnes(parameters: readonly Parameter[]): string[] {
  return ['query', 'header'].flatMap((kind) => {
    const names = parameters.filter(({ place, isRequired }) => place === kind && !isRequired).map(({ name }) => name);
    return names.length === 0 ? [] : [`optional ${kind} parameters: ${names.join(', ')}`];
  });
}

interface DescribedBody extends WrittenBody {
  readonly examples: readonly ValuePath[];
}

/** The first media type that a flow can send. Throws an AutomateError (`usage`) if a required body has none. */
function bodyOfOperation(document: OpenApi, operation: Operation, fill: (value: unknown) => unknown): DescribedBody {
  const requestBody = document.at(operation.part.requestBody);
  const content = Object.entries(partOf(requestBody.content));
  const ofType = (matches: (type: string) => boolean) => content.find(([type]) => matches(type));
  const value = ([, media]: readonly [string, unknown]) => writtenExample(document, document.at(media));
  const examplesIn = ([, media]: readonly [string, unknown], written: unknown, place: string) =>
    exampleValues(document, document.at(media).schema, written, [place]);
  const json = ofType(isJson);
  if (json) {
    const headers: WrittenHeader[] = /^\*/.test(json[0]) ? [] : [['Content-Type', json[0]]];
    const body = fill(value(json));
    return { part: { body: JSON.stringify(body) }, headers, examples: examplesIn(json, body, 'body'), notes: [] };
  }
  const form = ofType((type) => /^application\/x-www-form-urlencoded/i.test(type));
  if (form) {
    const filled = formOf(partOf(fill(value(form))));
    return { ...noBody, part: { form: filled }, examples: examplesIn(form, filled, 'form') };
  }
  const text = ofType((type) => /^text\//i.test(type));
  if (text)
    return { part: { text: String(value(text)) }, headers: [['Content-Type', text[0]]], examples: examplesIn(text, '', 'text'), notes: [] };
  const types = content.map(([type]) => type).join(', ');
  if (content.length > 0 && requestBody.required === true)
    throw new AutomateError(
      'usage',
      `${operationText(operation)} takes a body of ${types}, which a flow cannot send\nexpected JSON, a form or text; for a form with files, write form: { name: { file: PATH } } into a flow`,
    );
  return { ...noBody, examples: [], notes: content.length > 0 ? [`the body (${types}) was left out: a flow cannot send it`] : [] };
}

function writtenExample(document: OpenApi, { example, examples, schema }: OpenApiObject): unknown {
  const [first] = Object.values(partOf(examples));
  return example ?? document.at(first).value ?? sampleOf(document, schema);
}

/** Forms hold strings, numbers, true, false, null, and lists of these. Any other value becomes JSON text. */
function formOf(value: OpenApiObject): Record<string, unknown> {
  const plain = (one: unknown) => (typeof one === 'object' && one !== null && !('cel' in one) ? JSON.stringify(one) : one);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, Array.isArray(member) ? member.map(plain) : plain(member)]),
  );
}
