import { orUndefined } from '../../core/value/value.ts';
import { formOfParts, type RecordedPart } from '../har.ts';
import { type JsonPart, listOf, partOf, textIn } from '../json-parts.ts';
import type { KnownSecrets } from '../known-secrets.ts';
import { FieldNames } from '../openapi/sample.ts';
import type { UrlBase } from '../starter.ts';
import type { Example } from '../starter-references.ts';
import { formIn, noBody, sendableBody, type WrittenBody, type WrittenHeader } from '../written-node.ts';
import { headerPairs, type PostmanRequest } from './collection.ts';
import { translatedAuth } from './postman-auth.ts';
import { Variables } from './variables.ts';

/** Throws an AutomateError (`usage`) if no flow can send the request. */
export function translatedRequest(chosen: PostmanRequest, secrets: KnownSecrets, example: Example | undefined) {
  const { request, path, hasScripts } = chosen;
  const fields = new FieldNames(example);
  const variables = new Variables(chosen.variables, { secrets, fields, hasRecords: example !== undefined });
  const method = variables.inText(textIn(request.method) ?? 'GET').toUpperCase();
  const { url, base } = urlOf(request.url, variables);
  const { auth, credentials, notes } = translatedAuth(chosen.auth, variables, url);
  const headers = headersOf(request.header, variables);
  const body = sendableBody(bodyOf(partOf(request.body), headers, variables), method);
  const name = path.at(-1)?.trim();
  return {
    request: { method, url, headers: [...headers, ...body.headers], auth, ...body.part },
    base,
    vars: variables.vars,
    computed: variables.computed,
    description: name === undefined || name === '' || secrets.isIn(name) ? undefined : name,
    comments: hasScripts ? ['Postman runs scripts for this request; a flow does not, so what they set or check is missing here'] : [],
    credentials,
    notes: [
      ...variables.notes,
      ...variables.fieldNotes(),
      ...fields.notes,
      ...body.notes,
      ...notes,
      ...(hasScripts ? ['the scripts of the request are not run'] : []),
    ],
    lacksColumns: variables.lacksFields || fields.notes.length > 0,
  };
}

function urlOf(written: unknown, variables: Variables): { readonly url: string; readonly base: UrlBase | undefined } {
  const parts = typeof written === 'string' ? { raw: written } : partOf(written);
  const [, origin = '', path = '', query = ''] = /^((?:[a-z][a-z\d+.-]*:\/\/)?[^/?#]*)([^?#]*)(?:\?([^#]*))?/i.exec(addressOf(parts)) ?? [];
  const start = variables.inOrigin(origin, path !== '');
  const own = new Map(listOf(parts.variable).map((variable) => [String(partOf(variable).key ?? partOf(variable).id), partOf(variable)]));
  const segments = path.split('/').map((segment) => {
    const name = /^:(.+)$/.exec(segment)?.[1];
    return name === undefined ? variables.inText(segment) : pathValue(name, textIn(own.get(name)?.value) ?? '', variables);
  });
  const parameters = Array.isArray(parts.query) ? queryOf(parts.query) : query;
  const rest = `${segments.join('/')}${parameters === '' ? '' : `?${variables.inText(parameters)}`}`;
  const url = start.value + escaped(rest);
  return { url, base: start.value === start.reference ? undefined : start };
}

/** A path variable is made to be filled, so its example value is only sent if there are records without a column for it. */
function pathValue(name: string, value: string, variables: Variables): string {
  if (value.includes('{{')) return variables.inText(value);
  const { fields } = variables;
  const isExample = value !== '' && variables.hasRecords && fields.known(name) === undefined;
  return isExample ? variables.inText(value) : `{{${fields.needed(name)}}}`;
}

/** Requests that an exporter wrote can lack `raw`. */
function addressOf({ raw, protocol, host, port, path }: JsonPart): string {
  if (typeof raw === 'string' && raw !== '') return raw.trim();
  const joined = (part: unknown, separator: string) =>
    Array.isArray(part)
      ? part.map((one) => (typeof one === 'string' ? one : String(partOf(one).value ?? ''))).join(separator)
      : (textIn(part) ?? '');
  const start = typeof protocol === 'string' ? `${protocol.replace(/:\/*$/, '')}://` : '';
  const way = joined(path, '/').replace(/^\/*/, '/');
  return `${start}${joined(host, '.')}${port === undefined || port === '' ? '' : `:${port}`}${way === '/' ? '' : way}`;
}

function queryOf(query: unknown): string {
  return listed(query)
    .map(({ key, value }) => {
      const text = value === null || value === undefined ? '' : `=${String(value).replaceAll('&', '%26')}`;
      return `${key ?? ''}${text}`;
    })
    .join('&');
}

/** Percent-encodes what a URL cannot contain, as Postman does when it sends the request. */
function escaped(text: string): string {
  return text.replace(/[\s"<>\\^`|#]|[^\x20-\x7e]+/g, encodeURIComponent);
}

function listed(list: unknown): JsonPart[] {
  return listOf(list)
    .map(partOf)
    .filter(({ disabled, key }) => disabled !== true && (key ?? '') !== '');
}

function headersOf(written: unknown, variables: Variables): WrittenHeader[] {
  return headerPairs(typeof written === 'string' ? written : listed(written))
    .filter(([name]) => name !== '')
    .map(([name, value]) => [variables.inText(name).trim(), variables.inText(value)]);
}

function bodyOf(body: JsonPart, headers: readonly WrittenHeader[], variables: Variables): WrittenBody {
  if (body.disabled === true) return noBody;
  switch (body.mode) {
    case 'raw':
      return rawBody(textIn(body.raw) ?? '', String(partOf(partOf(body.options).raw).language ?? ''), headers, variables);
    case 'urlencoded': {
      const { urlencoded } = body;
      const form =
        typeof urlencoded === 'string'
          ? formIn(variables.inText(urlencoded))
          : formOfParts(listed(urlencoded).map((pair) => textPart(pair, variables))).part.form;
      return form && Object.keys(form).length > 0 ? { ...noBody, part: { form } } : noBody;
    }
    case 'formdata': {
      const parts = listed(body.formdata).flatMap((pair) => formParts(pair, variables));
      return parts.length === 0 ? noBody : formOfParts(parts);
    }
    case 'graphql':
      return graphqlBody(partOf(body.graphql), variables);
    case 'file':
      return {
        ...noBody,
        notes: ['the body is the content of a file, which a flow can send only in a form: write form: { name: { file: PATH } }'],
      };
    default:
      return noBody;
  }
}

function textPart({ key, value }: JsonPart, variables: Variables): RecordedPart {
  return { name: variables.inText(String(key)), value: variables.inText(String(value ?? '')), file: undefined };
}

function formParts(pair: JsonPart, variables: Variables): RecordedPart[] {
  if (pair.type !== 'file') return [textPart(pair, variables)];
  const files = (Array.isArray(pair.src) ? pair.src : [pair.src]).filter((file) => typeof file === 'string' && file !== '');
  return (files.length > 0 ? files : ['FILE']).map((file) => ({ ...textPart(pair, variables), file: variables.inText(String(file)) }));
}

const typesOf: Readonly<Record<string, string>> = {
  xml: 'application/xml',
  html: 'text/html',
  javascript: 'application/javascript',
  text: 'text/plain',
};

function rawBody(raw: string, language: string, headers: readonly WrittenHeader[], variables: Variables): WrittenBody {
  if (raw.trim() === '') return noBody;
  const type = headers.find(([name]) => /^content-type$/i.test(name))?.[1] ?? '';
  const isOther = type === '' ? Object.hasOwn(typesOf, language) && language !== 'text' : !/json/i.test(type);
  // Postman leaves comments out of JSON.
  const bare = raw.replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*.*?\*\//gs, '$1').trim();
  const json = isOther ? undefined : variables.inJson(bare);
  if (json !== undefined && /^[[{]/.test(json) && orUndefined(() => JSON.parse(json)) !== undefined)
    return { ...noBody, part: { body: json } };
  const written = language === 'json' ? 'application/json' : typesOf[language];
  return {
    ...noBody,
    part: { text: variables.inText(raw) },
    headers: type === '' && written !== undefined ? [['Content-Type', written]] : [],
  };
}

function graphqlBody({ query, variables: written, operationName }: JsonPart, variables: Variables): WrittenBody {
  if (typeof query !== 'string' || query.trim() === '') return noBody;
  const text = typeof written === 'string' ? variables.inJson(written) : JSON.stringify(written ?? {});
  const values = text.trim() === '' ? {} : orUndefined(() => JSON.parse(text) as JsonPart);
  const body = {
    query: variables.inText(query),
    ...(values !== undefined && Object.keys(values).length > 0 && { variables: values }),
    ...(typeof operationName === 'string' && operationName !== '' && { operationName }),
  };
  const notes = values === undefined ? ['the variables of the GraphQL query are not valid JSON, and were left out'] : [];
  return { ...noBody, part: { body: JSON.stringify(body) }, notes };
}
