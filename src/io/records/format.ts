/** A file format for records. */
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

/** The names of the formats, for messages and help. Each may be followed by `.gz`. */
export const formatNames = [...kinds.keys()];

/** The format of a name such as `csv` or `ndjson.gz`; absent if there is no such format. */
export function formatOfName(name: string): Format | undefined {
  const [, base = '', gz] = /^(.*?)(\.gz)?$/is.exec(name) ?? [];
  const kind = kinds.get(base.toLowerCase());
  return kind && { kind, gzip: gz !== undefined };
}

/** The format that a file's name ends with; absent if it ends otherwise. */
export function formatOfPath(path: string): Format | undefined {
  const extension = writtenExtension(path);
  return extension === undefined ? undefined : formatOfName(extension);
}

/** The extension for files of a format, such as `.ndjson.gz`. A path with another extension of the same format (`.jsonl`) keeps its extension. */
export function extensionOf({ kind, gzip }: Format, path: string): string {
  const ofPath = formatOfPath(path);
  if (ofPath?.kind === kind && ofPath.gzip === gzip) return `.${writtenExtension(path)}`;
  return `.${kind}${gzip ? '.gz' : ''}`;
}

function writtenExtension(path: string): string | undefined {
  return /\.([^./\\]+(?:\.gz)?)$/i.exec(path)?.[1];
}
