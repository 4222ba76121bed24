import { AutomateError } from '../../core/failure.ts';
import { isMapping } from '../../core/value/value.ts';
import { hasSecretName, isNamedSecret } from '../../flow/secrets/secret-text.ts';
import { type JsonPart, listOf, partOf, textIn } from '../json-parts.ts';
import { addSecretPairs, addSecretsIn, KnownSecrets } from '../known-secrets.ts';

/** A request of a Postman collection, with what it inherits from its folders. */
export interface PostmanRequest {
  /** The names of its folders and its own name. */
  readonly path: readonly string[];
  readonly request: JsonPart;
  /** Empty if the request is sent without auth. */
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
  return (
    disabled !== true &&
    lines.some(
      (line) =>
        String(line)
          .replace(/\/\/.*/, '')
          .trim() !== '',
    )
  );
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
  const name = textIn(key) ?? textIn(id) ?? '';
  if (typeof own === 'string' && (type === 'secret' || isSecretName(name, own))) known.add(own);
  for (const [member, inner] of Object.entries(value)) {
    if (member === 'apikey') known.add(parameterOf(value, 'value') ?? '');
    if (member === 'event') continue;
    if (typeof inner !== 'string') addSecrets(inner, known);
    else if (member === 'raw' && /^[^\s{[<]*\?/.test(inner)) addSecretPairs(inner.split(/\?(.*)/s)[1] ?? '', known);
    else if (member === 'raw' || member === 'body') addSecretsIn(inner, known);
    else if (isSecretName(member, inner)) known.add(inner);
  }
}

export function isSecretName(name: string, value: string): boolean {
  return hasSecretName(name) || isNamedSecret(name, 'body', value, true) || isNamedSecret(name, 'header', value, true);
}

/** Returns a parameter of `auth`, which is a mapping in version 2.0, and a list of keys and values in version 2.1. */
export function parameterOf(auth: JsonPart, name: string): string | undefined {
  const parameters = auth[String(auth.type)] ?? auth.apikey;
  const written = Array.isArray(parameters) ? parameters.map(partOf).find(({ key }) => key === name)?.value : partOf(parameters)[name];
  return written === undefined || written === null || written === ''
    ? undefined
    : typeof written === 'object'
      ? JSON.stringify(written)
      : String(written);
}
