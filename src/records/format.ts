import type { Failure } from '../core/failure.ts';
import type { Fields } from '../core/record.ts';

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

/** Each may be followed by `.gz`, except `xlsx`, because a workbook is already compressed. */
export const formatNames = [...kinds.keys()];

/** Accepts names such as `csv` or `ndjson.gz`. */
export function formatOfName(name: string): Format | undefined {
  const [, base = '', gz] = /^(.*?)(\.gz)?$/is.exec(name) ?? [];
  const kind = kinds.get(base.toLowerCase());
  if (kind === 'xlsx' && gz !== undefined) return undefined;
  return kind && { kind, gzip: gz !== undefined };
}

/** Undefined if the extension is unknown. */
export function formatOfPath(path: string): Format | undefined {
  const extension = writtenExtension(path);
  return extension === undefined ? undefined : formatOfName(extension);
}

/** For example `.ndjson.gz`. Keeps another extension of `path` for the same format, such as `.jsonl` for NDJSON. */
export function extensionOf({ kind, gzip }: Format, path: string): string {
  const ofPath = formatOfPath(path);
  if (ofPath?.kind === kind && ofPath.gzip === gzip) return `.${writtenExtension(path)}`;
  return `.${kind}${gzip ? '.gz' : ''}`;
}

function writtenExtension(path: string): string | undefined {
  return /\.([^./\\]+(?:\.gz)?)$/i.exec(path)?.[1];
}

/** A file is `begin`, `write` (any number of times), then `end`. If it ends after a row, `write` and `end` can continue it. */
export interface RecordWriter {
  begin(): string;
  /** Separates a row from the row before it. */
  readonly between: string;
  /** `isFirst`: the rows are the first in the file. */
  write(rows: readonly Fields[], isFirst: boolean): string;
  end(anyWritten: boolean): string;
  /** The failure of a row that the format cannot represent. */
  misfit(fields: Fields): Failure | undefined;
}
