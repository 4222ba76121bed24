import { isReferable } from '../core/template/template.ts';
import { isLoopback, percentDecoded } from '../core/template/url.ts';
import { looksRandom } from '../core/text/secret-shapes.ts';
import { freeName } from '../core/text/suggest.ts';
import { parseJson } from '../core/value/json.ts';
import { isObject, type JsonObject, jsonOf, orUndefined, type Value, type ValuePath } from '../core/value/value.ts';
import type { NameRule } from '../flow/secrets/secret-text.ts';
import { KnownSecrets, pathWithFields, textWithFields } from './known-secrets.ts';
import { type Example, fieldsOf, type Referring, withReferences } from './starter-references.ts';
import { type Cleaned, withoutSecrets } from './starter-secrets.ts';
import {
  exampleNotes,
  nodeOf,
  plainName,
  sentExamples,
  unusableRequest,
  type WrittenHead,
  type WrittenNode,
  type WrittenRequest,
  yamlOf,
} from './written-node.ts';

export interface Starter extends Pick<Cleaned, 'credentials' | 'notes'> {
  readonly text: string;
  /** True if the request uses fields, and so can differ from record to record. */
  readonly usesFields: boolean;
  /** A reference to a field that the request could use, such as `{{id}}`. */
  readonly reference: string;
  readonly needsAllowHttp: boolean;
  /** True if a field that is not in the records takes the place of a secret. */
  readonly lacksColumns: boolean;
}

export interface About extends WrittenHead {
  readonly example?: Example;
  readonly comments?: readonly string[];
  /** The paths of the values in the node that are only examples from the API's documentation. */
  readonly examples?: readonly ValuePath[];
  readonly secrets?: KnownSecrets;
  readonly base?: UrlBase;
  readonly computed?: Readonly<Record<string, { readonly cel: string }>>;
}

/** The beginning of a URL that is a variable of the flow. */
export interface UrlBase {
  readonly value: string;
  /** For example `{{vars.api}}`. */
  readonly reference: string;
}

/** Stands in the place of a map until there is one. */
export const mapComment = '    # map: [name]  # paths in the answer; automate test-request lists them';

/** Generates a flow that sends this request for each record. Throws an AutomateError (`usage`) if no flow can send the request. */
export function starterFlow(request: WrittenRequest, about: About = {}): Starter {
  const { example, examples = [], secrets } = about;
  const url = request.url.replace(pathSession, '');
  const hidden = withSecretFields(withQueryVariables(withLoginHeader({ ...request, url }), secrets), secrets);
  const referring = withReferences(nodeOf(hidden.request), example);
  const { node, takesField, ...cleaned } = withoutSecrets(referring.node, secrets);
  const sent = sentExamples(node, examples);
  const name = about.name ?? nameInPath(node.url);
  const text = flowText(node, referring, { ...about, name, examples: sent });
  if (secrets?.isIn(text)) throw unusableRequest('a secret of the file is in a part of the request that cannot refer to a credential');
  return {
    ...cleaned,
    text,
    notes: [
      ...referring.notes,
      ...(url === request.url ? [] : ['the session in the path of the URL was left out: auth of type session can log in']),
      ...hidden.fields.map((field) => `a secret is taken from the field "${field}", because it cannot be a credential in its place`),
      ...cleaned.notes,
      ...exampleNotes(sent),
      ...randomValues(node),
    ],
    usesFields: fieldsOf(node).length > 0,
    reference: `{{${example?.columns.find(isReferable) ?? 'name'}}}`,
    needsAllowHttp: isPlainHttp(node.url),
    lacksColumns: takesField || hidden.fields.length > 0,
  };
}

/** The last word of the path that is the same for every record, without an extension such as `.json`. */
function nameInPath(url: string): string {
  const path = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*|[?#].*$/gi, '');
  const words = path.split('/').map((segment) => percentDecoded(segment).replace(/\.[a-z]+$/i, ''));
  return words.findLast((word) => /^\p{L}[\p{L}\p{N}_-]*$/u.test(word) && !/^v\d+$/i.test(word) && !looksRandom(word)) ?? 'flow';
}

/** Servers in Java add the session to a path, as they do not know yet whether the client keeps cookies. */
const pathSession = /;jsessionid=[^/?#;]*/gi;

/** A user name without a password, before the host, is often a token. */
function withLoginHeader(request: WrittenRequest): WrittenRequest {
  const [, scheme = '', user = '', rest = ''] = /^(https?:\/\/)([^/?#@:]+):?@(.*)$/is.exec(request.url) ?? [];
  if (user === '') return request;
  return { ...request, url: scheme + rest, headers: [...request.headers, ['Authorization', `Basic ${btoa(`${user}:`)}`]] };
}

/** Moves literal secrets of a GraphQL query into its variables, because a credential can only be a whole value. */
function withQueryVariables(request: WrittenRequest, { rule } = new KnownSecrets()): WrittenRequest {
  const { body } = request;
  const parsed = body === undefined ? undefined : orUndefined(() => parseJson(body));
  if (parsed === undefined) return request;
  const queries = Array.isArray(parsed) ? parsed : [parsed];
  const moved = queries.map((query) => movedIn(query, rule));
  if (moved.every((query, index) => query === queries[index])) return request;
  return { ...request, body: jsonOf(Array.isArray(parsed) ? moved : (moved[0] as Value)) };
}

const argument = /([_A-Za-z]\w*)(\s*:\s*)("""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|-?\d+(?![\w.]))/g;
/** The beginning of an operation: its name and the parenthesis before its variables, or the brace of a query without a name. */
const operation = /^(?:\s|#[^\n]*\n)*(?:(?:query|mutation|subscription)\b(?:\s*[_A-Za-z]\w*)?\s*(\()?|(?=\{))/;
const laterOperation = /\}\s*(?:(?:query|mutation|subscription)\b|\{)/;

function movedIn(request: Value, isSecret: NameRule): Value {
  if (!isObject(request) || typeof request.query !== 'string') return request;
  const { query, variables = {} } = request;
  const [start, parenthesis] = operation.exec(query) ?? [];
  const own = variables ?? {};
  // A variable that an operation does not use is an error, so only a single operation can get more variables.
  if (start === undefined || !isObject(own) || laterOperation.test(query.replace(argument, '$1'))) return request;
  const values: JsonObject = {};
  const types: string[] = [];
  const text = query.replace(argument, (found: string, name: string, colon: string, literal: string) => {
    const value = literalOf(literal);
    if (value === undefined || !isSecret(name, 'body', String(value), true)) return found;
    const variable = freeName(name, (one) => one in own || one in values || query.includes(`$${one}`));
    values[variable] = value;
    types.push(`$${variable}: ${typeof value === 'string' ? 'String' : 'Int'}!`);
    return `${name}${colon}$${variable}`;
  });
  if (types.length === 0) return request;
  const rest = text.slice(start.length);
  const head = start.trimEnd() === '' || start.trimEnd().endsWith('\n') ? `${start}query` : start.trimEnd();
  const declared = parenthesis ? `${start}${types.join(', ')}, ` : `${head}(${types.join(', ')}) `;
  return { ...request, query: declared + rest, variables: { ...own, ...values } };
}

function literalOf(literal: string): string | number | undefined {
  if (literal.startsWith('"""')) return literal.slice(3, -3);
  return orUndefined(() => JSON.parse(literal) as string | number);
}

function withSecretFields(request: WrittenRequest, secrets: KnownSecrets | undefined) {
  const url = secrets ? pathWithFields(request.url, secrets) : { text: request.url, fields: [] };
  const text = request.text === undefined ? undefined : textWithFields(request.text, secrets ?? new KnownSecrets());
  return {
    request: { ...request, url: url.text, ...(text && { text: text.text }) },
    fields: [...url.fields, ...(text?.fields ?? [])],
  };
}

function flowText(node: WrittenNode, { columns }: Referring, about: About): string {
  const { example, description, comments = [], examples, computed, base } = about;
  const { type, method, url: written, auth: signers, ...others } = node;
  const url = base && written.startsWith(base.value) ? base.reference + written.slice(base.value.length) : written;
  const nodes = [...(computed ? [{ type: 'set', fields: computed }] : []), { type, method, url, auth: signers, ...others }];
  const fields = example?.columns.length ? [`# The fields of ${plainName(example.name)}: ${columnsText(example.columns)}`] : [];
  const auth = signers ? [] : ['    # auth: { type: bearer, credential: my-token }  # store it: automate credentials set my-token'];
  const says = description === undefined ? ['# description: what this flow does, for people and for AI agents'] : [];
  const map = node.map ? [] : [mapComment];
  const lines = comments.map((comment) => `# ${comment.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]+/gu, ' ')}`);
  return `${[...lines, ...fields, ...says, yamlOf(nodes, { ...about, columns }, examples).trimEnd(), ...auth, ...map].join('\n')}\n`;
}

const maxListed = 30;

function columnsText(columns: readonly string[]): string {
  const more = columns.length > maxListed ? [`and ${columns.length - maxListed} more`] : [];
  return [...columns.slice(0, maxListed).map(plainName), ...more].join(', ');
}

function isPlainHttp(url: string): boolean {
  if (!/^http:/i.test(url)) return false;
  const host = /^http:\/\/(\[[^\]]*\]|[^/?#:]*)/i.exec(url)?.[1] ?? '';
  return !isLoopback(host.toLowerCase());
}

/** A value that looks random might be a secret with a harmless name. The notes do not contain the values. */
function randomValues({ url, headers = {}, body, form, text }: WrittenNode): string[] {
  const [address = '', query = ''] = url.split(/\?(.*)/s);
  const segments = address.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '').split('/');
  const found = [
    ...(segments.some((segment) => holdsRandom(percentDecoded(segment))) ? ["a part of the URL's path"] : []),
    ...query.split('&').flatMap((parameter) => {
      const [name = '', value = ''] = parameter.split(/=(.*)/s);
      return holdsRandom(percentDecoded(value)) ? [`the query parameter "${percentDecoded(name)}"`] : [];
    }),
    ...Object.entries(headers).flatMap(([name, value]) => (holdsRandom(value) ? [`the header "${name}"`] : [])),
    ...[body, form, text].flatMap((part) => randomIn(part, 'body')),
  ];
  return [...new Set(found)].map(
    (place) => `${place} looks random: if it is a secret, store it as a credential, and refer to the credential in the flow`,
  );
}

function randomIn(value: unknown, name: string): string[] {
  if (typeof value === 'string') return holdsRandom(value) ? [name === 'body' ? 'a value of the body' : `"${name}" in the body`] : [];
  if (Array.isArray(value)) return value.flatMap((member) => randomIn(member, name));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([own, member]) => (own === 'credential' ? [] : randomIn(member, own)));
}

function holdsRandom(text: string): boolean {
  return text
    .replace(/\{\{[^{}]*\}\}/g, ' ')
    .split(/[\s;,:="'&{}<>[\]()]+/)
    .some(looksRandom);
}
