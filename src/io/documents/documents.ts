import type { Documents } from '../../core/answer/document.ts';

/**
 * Creates the function that loads a parser for CSV or XML. Each parser is imported when it is first needed, because most flows need none.
 */
export function createDocuments(): Documents {
  return {
    load: async (kind) => (kind === 'xml' ? (await import('./xml.ts')).parseXml : (await import('./csv.ts')).parseCsv),
  };
}
