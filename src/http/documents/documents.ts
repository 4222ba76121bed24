import type { DocumentKind, Documents } from '../../core/answer/document.ts';
import type { Clock } from '../../core/ports.ts';
import type { Value } from '../../core/value/value.ts';

/** Parses the text of a document. Calls `turn` every few milliseconds, and waits for the promise that it returns. */
type ParseDocument = (text: string, turn: Clock['yieldIfLong']) => Promise<Value>;

/**
 * Number of characters above which documents are parsed one after another. A hostile document can need more than ten times its length in
 * memory, which must not add up for all requests in flight.
 */
const largeLength = 1_000_000;

/**
 * Creates the parsers for CSV and XML. Each parser is imported when it is first needed, because most flows need none. Yields to the event
 * loop of the clock.
 */
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
  const { parseCsv, parseRows } = await import('./csv.ts');
  return kind === 'csv' ? parseCsv : parseRows;
}
