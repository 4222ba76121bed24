import { lastName } from '../core/answer/path.ts';
import { referable, referableNames } from '../core/template/template.ts';
import { formatCount } from '../core/text/number.ts';
import { holdsToken, looksRandom } from '../core/text/secret-shapes.ts';
import { freeName } from '../core/text/suggest.ts';
import { parseJson } from '../core/value/json.ts';
import { orUndefined, type Value } from '../core/value/value.ts';
import { hasSecretName, isNamedSecret } from '../flow/secrets/secret-text.ts';
import { allPaths, pathsWithin, type StructureRow, structureOf } from '../preview/structure.ts';
import type { HarAnswer } from '../starter/har.ts';
import type { KnownSecrets } from '../starter/known-secrets.ts';
import { recordedList } from '../starter/openapi/answer-list.ts';
import type { Example } from '../starter/starter-references.ts';

interface RecordedMap {
  readonly map?: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

const maxFields = 50;
const others = 'automate test-request lists the others';

interface AnsweredRequest {
  readonly url: string;
  readonly example: Example | undefined;
  readonly secrets: KnownSecrets;
}

/** Reads the values of a recorded answer, except secrets. */
export async function recordedMap(answer: HarAnswer | undefined, request: AnsweredRequest): Promise<RecordedMap> {
  if (!answer) return { notes: [] };
  const { status, text } = answer;
  if (status === 0) return { notes: ['the request has no answer in the file, so the flow has no map'] };
  if (status < 200 || status > 299) return { notes: [`the recorded answer has status ${status}, so the flow has no map`] };
  if (text === undefined)
    return status === 204 ? { notes: [] } : { notes: ['the file does not contain the answer, so the flow has no map'] };
  const body = await bodyOf(text, answer.type);
  if (body === undefined) return { notes: [] };
  return mapOf(body, request);
}

/** Undefined if the answer is neither JSON nor XML. */
async function bodyOf(text: string, type: string): Promise<Value | undefined> {
  if (/[/+]xml$/.test(type)) {
    const { parseXml } = await import('../http/documents/xml.ts');
    return parseXml(text, () => undefined).catch(() => undefined);
  }
  return orUndefined(() => parseJson(text));
}

function mapOf(body: Value, { url, example, secrets }: AnsweredRequest): RecordedMap {
  const { rows } = structureOf(body);
  const taken = new Set([...referableNames(example?.columns ?? [])].flat());
  const list = recordedList(body, url);
  const secret = new Set(rows.filter((row) => isSecret(row, secrets)).map(({ path }) => path));
  const all = pathsWithin(rows, list);
  const leaves = allPaths(rows).filter((path) => !all.includes(path));
  const arrays = new Set(leaves.map((path) => arrayIn(path, list)));
  const harmless = all.filter((path) => !secret.has(path));
  const map = new Map<string, string>();
  const renamed: string[] = [];
  const isUsed = (name: string) => taken.has(name) || map.has(name);
  for (const path of harmless.slice(0, maxFields)) {
    const own = referable(lastName(path)) || 'value';
    const field = isUsed(own) ? freeName(referable(path.replace(/^\$body/, '')) || own, isUsed) : own;
    if (taken.has(own)) renamed.push(`the answer's "${own}" becomes ${field}, because the records already have a field "${own}"`);
    map.set(field, path);
  }
  const left = all.length - harmless.length;
  return {
    ...(map.size > 0 && { map: Object.fromEntries(map) }),
    notes: [
      ...renamed,
      ...(harmless.length > maxFields
        ? [`the map has ${maxFields} of the answer's ${formatCount(harmless.length)} values; ${others}`]
        : []),
      ...(arrays.size > 0
        ? [
            `the map leaves out ${[...arrays].join(', ')}, because a map with ${arrays.size === 1 ? 'this list' : 'such a list'} makes a row for each element`,
          ]
        : []),
      ...(left > 0 ? [`the map leaves out ${left === 1 ? 'a value' : `${left} values`} of the answer that might be secret`] : []),
    ],
  };
}

/** Returns the path of the array for which a value was left out. */
function arrayIn(path: string, list: string | undefined): string {
  const start = list !== undefined && path.startsWith(`${list}[]`) ? list.length + '[]'.length : 0;
  const at = path.indexOf('[]', start);
  return at < 0 ? path : path.slice(0, at);
}

/** Judges by the name and the value. A name on the path that looks generated can be a key of the data, and so a secret itself. */
function isSecret({ path, sample }: StructureRow, secrets: KnownSecrets): boolean {
  const name = lastName(path);
  const value = sample.replace(/^"|"$/g, '');
  if (hasSecretName(name) || isNamedSecret(name, 'body', value, true) || secrets.isIn(value) || holdsToken(value)) return true;
  return holdsToken(path) || secrets.isIn(path) || path.split(/[.[\]"]+/).some(looksRandom);
}
