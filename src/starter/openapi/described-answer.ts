import { listOf, partOf } from '../json-parts.ts';
import type { OpenApi, OpenApiObject, Operation } from './document.ts';
import { sampleOf } from './sample.ts';

export interface DescribedAnswer {
  readonly status: number;
  readonly headers: OpenApiObject;
  /** The media type's object in the OpenAPI file, with the schema and the examples of the response. */
  readonly media: OpenApiObject;
}

export function successfulAnswer({ at }: OpenApi, { responses }: OpenApiObject): DescribedAnswer | undefined {
  const answers = Object.entries(partOf(responses))
    .filter(([status]) => /^2(?:\d\d|XX)$/i.test(status))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  for (const [status, answer] of answers) {
    const { content, headers } = at(answer);
    const json = Object.entries(partOf(content)).find(([type]) => isJson(type));
    if (json) return { status: Number(status.replace(/xx/i, '00')), headers: partOf(headers), media: at(json[1]) };
  }
  return undefined;
}

export function isJson(type: string): boolean {
  return /^(?:application|text)\/(?:[\w.-]+\+)?json\b|^\*\/\*$/i.test(type);
}

/** A response that the API's documentation contains as an example. */
export interface AnswerExample {
  readonly status: number;
  readonly body: unknown;
  /** The body of the last page; undefined if the response is not the first of several pages. */
  readonly lastBody?: unknown;
}

/** Undefined if the file contains no example, because all values would be invented. */
export function answerExample(document: OpenApi, { part }: Operation): AnswerExample | undefined {
  const answer = successfulAnswer(document, part);
  if (!answer) return undefined;
  const { status, media } = answer;
  const [first] = Object.values(partOf(media.examples));
  const written = media.example ?? document.at(first).value;
  if (written !== undefined) return { status, body: written };
  return hasExample(document, media.schema) ? { status, body: sampleOf(document, media.schema, [], 'answer') } : undefined;
}

function hasExample(document: OpenApi, written: unknown, seen = new Set<OpenApiObject>()): boolean {
  const own = document.at(written);
  if (seen.has(own)) return false;
  seen.add(own);
  const { example, examples, properties, items } = document.schema(written);
  if (example !== undefined || listOf(examples).length > 0) return true;
  return [...Object.values(partOf(properties)), ...(items === undefined ? [] : [items])].some((part) => hasExample(document, part, seen));
}

/** For parameters that are filled from a record, keyed by name. The example comes from the parameter itself, or from its schema. */
export function parameterSamples(document: OpenApi, parameters: readonly unknown[]): ReadonlyMap<string, unknown> {
  return new Map(
    parameters.map((parameter) => {
      const { name, example, schema } = document.at(parameter);
      return [String(name), example ?? sampleOf(document, schema)] as const;
    }),
  );
}
