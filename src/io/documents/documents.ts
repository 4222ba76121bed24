import type { Documents } from '../../core/answer/document.ts';

/** Loads each parser with the first document of its kind: most flows have none. */
export function createDocuments(): Documents {
  return {
    load: async (kind) => (kind === 'xml' ? (await import('./xml.ts')).parseXml : (await import('./csv.ts')).parseCsv),
  };
}
