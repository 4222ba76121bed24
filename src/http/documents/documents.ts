import type { DocumentKind, Documents } from '../../core/answer/document.ts';
import type { Clock } from '../../core/ports.ts';
import type { Value } from '../../core/value/value.ts';

/** Calls `turn` every few milliseconds, and waits for its promise. */
type ParseDocument = (text: string, turn: Clock['yieldIfLong']) => Promise<Value>;

/** Longer documents are parsed one by one, because a hostile one can need over ten times its length in memory, which must not add up. */
const largeLength = 1_000_000;

/** Imports each parser when it is first needed, because most flows need none. Yields to the event loop of the clock. */
export function createDocuments({ yieldIfLong }: Pick<Clock, 'yieldIfLong'>): Documents {
  let lastLarge: Promise<unknown> = Promise.resolve();
  return {
    async parse(kind, text) {
      const parse = await parsers[kind]();
      if (text.length <= largeLength) return parse(text, yieldIfLong);
      const parsed = lastLarge.then(() => parse(text, yieldIfLong));
      lastLarge = parsed.catch(() => undefined);
      return parsed;
    },
  };
}

const parsers: { readonly [Kind in DocumentKind]: () => Promise<ParseDocument> } = {
  xml: async () => (await import('./xml.ts')).parseXml,
  csv: async () => (await import('./csv.ts')).parseCsv,
  rows: async () => (await import('./csv.ts')).parseRows,
  ndjson: async () => (await import('./ndjson.ts')).parseNdjson,
};
