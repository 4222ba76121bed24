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
      const parse = await parserOf(kind);
      if (text.length <= largeLength) return parse(text, yieldIfLong);
      const parsed = lastLarge.then(() => parse(text, yieldIfLong));
      lastLarge = parsed.catch(() => undefined);
      return parsed;
    },
  };
}

async function parserOf(kind: DocumentKind): Promise<ParseDocument> {
  if (kind === 'xml') return (await import('./xml.ts')).parseXml;
  if (kind === 'ndjson') return (await import('./ndjson.ts')).parseNdjson;
  const { parseCsv, parseRows } = await import('./csv.ts');
  return kind === 'csv' ? parseCsv : parseRows;
}
