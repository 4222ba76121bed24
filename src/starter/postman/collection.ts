import { AutomateError } from '../../core/failure.ts';
import { isMapping } from '../../core/value/value.ts';
import { hasSecretName, isNamedSecret } from '../../flow/secrets/secret-text.ts';
import { type JsonPart, listOf, partOf, textIn } from '../json-parts.ts';
import { addCookie, addSecretHeader, addSecretPairs, addSecretsIn, KnownSecrets, passwordIn } from '../known-secrets.ts';

/** A request of a Postman collection, with what it inherits from its folders. */
export interface PostmanRequest {
  readonly path: readonly string[];
  readonly request: JsonPart;
  readonly auth: JsonPart;
  /** The inner ones come last. */
  readonly variables: readonly JsonPart[];
  readonly hasScripts: boolean;
  readonly answers: readonly JsonPart[];
}

export interface Collection {
  readonly requests: readonly PostmanRequest[];
  readonly secrets: KnownSecrets;
}

type Inherited = Pick<PostmanRequest, 'path' | 'auth' | 'variables' | 'hasScripts'>;

/** Throws an AutomateError (`input`) if the document is not a collection of version 2. */
export function readCollection(document: unknown, file: string): Collection {
  const outer = partOf(document);
  // Postman's API returns a collection inside an object.
  const root = Array.isArray(outer.item) ? outer : partOf(outer.collection);
  if (!Array.isArray(root.item)) throw new AutomateError('input', `${file}: expected a Postman collection, found ${otherKind(outer)}`);
  const secrets = new KnownSecrets();
  addSecrets(root, secrets);
  addSecretVariables(variablesIn(root), secrets);
  const start = inheritedFrom(root, { path: [], auth: {}, variables: [], hasScripts: false });
  return { requests: requestsIn(root.item, start), secrets };
}

function otherKind(document: JsonPart): string {
  const { values, requests, order, log, openapi, swagger, collections } = document;
  if (partOf(log).entries !== undefined) return 'a HAR file';
  if (openapi !== undefined || swagger !== undefined) return 'an OpenAPI file';
  if (Array.isArray(collections)) return 'a backup of several collections: export one of them';
  if (Array.isArray(requests) && order !== undefined) return 'a collection of version 1: export it again as "Collection v2.1"';
  if (Array.isArray(values)) return 'an environment: export the collection instead';
  return 'other JSON, without a list "item"';
}

/** An item without `auth` uses the auth of the folder around it. */
function inheritedFrom(part: JsonPart, outer: Inherited): Inherited {
  const auth = isMapping(part.auth) && part.auth.type !== 'inherit' ? partOf(part.auth) : outer.auth;
  return {
    path: outer.path,
    auth,
    variables: [...outer.variables, ...listOf(part.variable).map(partOf)],
    hasScripts: outer.hasScripts || listOf(part.event).some((event) => hasCode(partOf(event))),
  };
}

function hasCode({ script, disabled }: JsonPart): boolean {
  const { exec } = partOf(script);
  const lines = typeof exec === 'string' ? [exec] : listOf(exec);
  return disabled !== true && lines.some((line) => !/^\s*(?:\/\/.*)?\s*$/.test(String(line)));
}

function requestsIn(items: unknown, outer: Inherited): PostmanRequest[] {
  return listOf(items)
    .map(partOf)
    .flatMap((item) => {
      const inherited = inheritedFrom(item, { ...outer, path: [...outer.path, textIn(item.name) ?? 'unnamed'] });
      if (Array.isArray(item.item)) return requestsIn(item.item, inherited);
      if (item.request === undefined || item.request === null) return [];
      // A request that has no options is written as its URL.
      const request = typeof item.request === 'string' ? { url: item.request } : partOf(item.request);
      const { auth } = inheritedFrom({ auth: request.auth }, inherited);
      return [{ ...inherited, auth: auth.type === 'noauth' ? {} : auth, request, answers: listOf(item.response).map(partOf) }];
    });
}

/** Takes the secrets of the whole file: in variables, auth, headers, parameters, bodies and saved answers. */
function addSecrets(value: unknown, known: KnownSecrets): void {
  if (Array.isArray(value)) for (const member of value) addSecrets(member, known);
  if (!isMapping(value)) return;
  const { key, id, type, value: own } = value;
  if (typeof own === 'string') addNamed(textIn(key) ?? textIn(id) ?? '', own, type === 'secret', known);
  for (const [member, inner] of Object.entries(value)) {
    if (member === 'event') continue;
    addSpecial(member, inner, value, known);
    if (typeof inner === 'string') addSecretText(member, inner, known);
    else addSecrets(inner, known);
  }
}

function addSpecial(member: string, inner: unknown, of: JsonPart, known: KnownSecrets): void {
  if (member === 'apikey') addNamed('secret', parameterOf(of, 'value') ?? '', true, known);
  else if (member === 'header') for (const [name, text] of headerPairs(inner)) addSecretHeader(name, text, known);
  else if (member === 'cookie')
    for (const { name, key, value } of listOf(inner).map(partOf)) addCookie(String(name ?? key ?? ''), String(value ?? ''), known);
}

function variablesIn(part: unknown): JsonPart[] {
  const { variable, item } = partOf(part);
  return [...listOf(variable).map(partOf), ...listOf(item).flatMap(variablesIn)];
}

/** A variable with any name can have the value of a secret, and this value can again be a variable. */
function addSecretVariables(variables: readonly JsonPart[], known: KnownSecrets): void {
  const left = new Set(variables);
  const isSecret = ({ key, id, value }: JsonPart) => known.isVariable(String(key ?? id), String(value ?? ''));
  for (let found = [...left].filter(isSecret); found.length > 0; found = [...left].filter(isSecret)) {
    for (const variable of found) {
      left.delete(variable);
      addNamed('secret', String(variable.value ?? ''), true, known);
    }
  }
}

function addNamed(name: string, text: string, isSecret: boolean, known: KnownSecrets): void {
  known.addVariables(name, text);
  if (isSecret || isSecretName(name, text)) known.add(text);
}

function addSecretText(member: string, text: string, known: KnownSecrets): void {
  if (!/^(?:raw|body|url|urlencoded|variables)$/.test(member)) {
    addNamed(member, text, false, known);
    return;
  }
  const [start = '', query] = text.split(/\?(.*)/s);
  addNamed('password', passwordIn(text), true, known);
  if (/^\s*[^\s"<[]*=/.test(text)) addSecretPairs(query ?? start, known);
  else addSecretsIn(text, known);
}

/** Some exporters write the headers as text. */
export function headerPairs(written: unknown): [name: string, value: string][] {
  if (typeof written === 'string')
    return written
      .split(/\r?\n/)
      .map((line) => line.split(/:\s*(.*)/s))
      .map(([name = '', value = '']) => [name.trim(), value]);
  return listOf(written)
    .map(partOf)
    .map(({ key, value }) => [String(key ?? '').trim(), String(value ?? '')]);
}

export function isSecretName(name: string, value: string): boolean {
  return hasSecretName(name) || isNamedSecret(name, 'body', value, true) || isNamedSecret(name, 'header', value, true);
}

/** Returns a parameter of `auth`, which is a mapping in version 2.0, and a list of keys and values in version 2.1. */
export function parameterOf(auth: JsonPart, name: string): string | undefined {
  const parameters = auth[String(auth.type)] ?? auth.apikey;
  const written = Array.isArray(parameters) ? parameters.map(partOf).find(({ key }) => key === name)?.value : partOf(parameters)[name];
  if (written === undefined || written === null || written === '') return undefined;
  return typeof written === 'object' ? JSON.stringify(written) : String(written);
}
