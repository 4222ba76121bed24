import { type OpenApi, type Part, partOf } from './document.ts';

/** A response of an operation, as described in the OpenAPI file. */
export interface DescribedAnswer {
  readonly status: number;
  /** The headers of the response, keyed by name. */
  readonly headers: Part;
  /** The media type's object in the OpenAPI file, with the schema and the examples of the response. */
  readonly media: Part;
}

/** Returns the first successful response that is JSON; undefined if there is none. */
export function successfulAnswer({ at }: OpenApi, { responses }: Part): DescribedAnswer | undefined {
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

/** True for a media type that is JSON. */
export function isJson(type: string): boolean {
  return /^(?:application|text)\/(?:[\w.-]+\+)?json\b|^\*\/\*$/i.test(type);
}
