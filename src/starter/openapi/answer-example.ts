import { successfulAnswer } from './described-answer.ts';
import { listOf, type OpenApi, type Part, partOf } from './document.ts';
import type { Operation } from './operations.ts';
import { sampleOf } from './sample.ts';

/** A response that the API's documentation contains as an example. */
export interface AnswerExample {
  readonly status: number;
  readonly body: unknown;
  /** The body of the last page; undefined if the response is not the first of several pages. */
  readonly lastBody?: unknown;
}

/**
 * Returns an example of an operation's successful response. Undefined if the file contains no example, because all values would be
 * invented.
 */
export function answerExample(document: OpenApi, { part }: Operation): AnswerExample | undefined {
  const answer = successfulAnswer(document, part);
  if (!answer) return undefined;
  const { status, media } = answer;
  const [first] = Object.values(partOf(media.examples));
  const written = media.example ?? document.at(first).value;
  if (written !== undefined) return { status, body: written };
  return hasExample(document, media.schema) ? { status, body: sampleOf(document, media.schema, [], 'answer') } : undefined;
}

/** True if a schema or any of its parts has an example. `seen` are the schemas without one that were already searched. */
function hasExample(document: OpenApi, written: unknown, seen = new Set<Part>()): boolean {
  const own = document.at(written);
  if (seen.has(own)) return false;
  seen.add(own);
  const { example, examples, properties, items } = document.schema(written);
  if (example !== undefined || listOf(examples).length > 0) return true;
  return [...Object.values(partOf(properties)), ...(items === undefined ? [] : [items])].some((part) => hasExample(document, part, seen));
}

/**
 * Returns an example value for each parameter that is filled from a record, keyed by the parameter's name. The example comes from the
 * parameter itself, or from its schema.
 */
export function parameterSamples(document: OpenApi, parameters: readonly unknown[]): ReadonlyMap<string, unknown> {
  return new Map(
    parameters.map((parameter) => {
      const { name, example, schema } = document.at(parameter);
      return [String(name), example ?? sampleOf(document, schema)] as const;
    }),
  );
}
