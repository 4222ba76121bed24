/** A file format for records. */
export interface Format {
  readonly kind: 'csv' | 'tsv' | 'json' | 'ndjson' | 'xlsx';
  readonly gzip: boolean;
}

const kinds = new Map<string, Format['kind']>([
  ['csv', 'csv'],
  ['tsv', 'tsv'],
  ['json', 'json'],
  ['ndjson', 'ndjson'],
  ['jsonl', 'ndjson'],
  ['xlsx', 'xlsx'],
]);

/** The names of the formats, for messages and help. Each but `xlsx`, which is packed already, may be followed by `.gz`. */
export const formatNames = [...kinds.keys()];

/** The format of a name such as `csv` or `ndjson.gz`; undefined for an unknown name. */
export function formatOfName(name: string): Format | undefined {
  const [, base = '', gz] = /^(.*?)(\.gz)?$/is.exec(name) ?? [];
  const kind = kinds.get(base.toLowerCase());
  if (kind === 'xlsx' && gz !== undefined) return undefined;
  return kind && { kind, gzip: gz !== undefined };
}

/** The format of a file by the end of its name; undefined for any other end. */
export function formatOfPath(path: string): Format | undefined {
  const extension = writtenExtension(path);
  return extension === undefined ? undefined : formatOfName(extension);
}

/** The extension for files of a format, such as `.ndjson.gz`. The path's own extension (`.jsonl`) if it names this format. */
export function extensionOf({ kind, gzip }: Format, path: string): string {
  const ofPath = formatOfPath(path);
  if (ofPath?.kind === kind && ofPath.gzip === gzip) return `.${writtenExtension(path)}`;
  return `.${kind}${gzip ? '.gz' : ''}`;
}

function writtenExtension(path: string): string | undefined {
  return /\.([^./\\]+(?:\.gz)?)$/i.exec(path)?.[1];
}
