/** What kind of text records are kept in, and whether it is gzipped. */
export interface Format {
  readonly kind: 'csv' | 'tsv' | 'json' | 'ndjson';
  readonly gzip: boolean;
}

const kinds = new Map<string, Format['kind']>([
  ['csv', 'csv'],
  ['tsv', 'tsv'],
  ['json', 'json'],
  ['ndjson', 'ndjson'],
  ['jsonl', 'ndjson'],
]);

/** The formats' names, for messages and help. Each may be followed by `.gz`. */
export const formatNames = [...kinds.keys()];

/** The format of a name such as `csv` or `ndjson.gz`; absent when there is no such format. */
export function formatOfName(name: string): Format | undefined {
  const [, base = '', gz] = /^(.*?)(\.gz)?$/is.exec(name) ?? [];
  const kind = kinds.get(base.toLowerCase());
  return kind && { kind, gzip: gz !== undefined };
}

/** The format that a file's name ends with; absent when it ends otherwise. */
export function formatOfPath(path: string): Format | undefined {
  const extension = writtenExtension(path);
  return extension === undefined ? undefined : formatOfName(extension);
}

/** What the names of files in that format end with: `.csv`, `.ndjson.gz`; what the path ends with, if that says this format: `.jsonl`. */
export function extensionOf({ kind, gzip }: Format, path: string): string {
  const said = formatOfPath(path);
  if (said?.kind === kind && said.gzip === gzip) return `.${writtenExtension(path)}`;
  return `.${kind}${gzip ? '.gz' : ''}`;
}

function writtenExtension(path: string): string | undefined {
  return /\.([^./\\]+(?:\.gz)?)$/i.exec(path)?.[1];
}
