import type { Failure } from '../core/failure.ts';
import type { Fields } from '../core/record.ts';

/** A file format for input or output records. */
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

/**
 * The names of all formats, for messages and help. Each of them may be followed by `.gz`, except `xlsx`, because a workbook is already
 * compressed.
 */
export const formatNames = [...kinds.keys()];

/** Returns the format with a name such as `csv` or `ndjson.gz`; undefined if the name is unknown. */
export function formatOfName(name: string): Format | undefined {
  const [, base = '', gz] = /^(.*?)(\.gz)?$/is.exec(name) ?? [];
  const kind = kinds.get(base.toLowerCase());
  if (kind === 'xlsx' && gz !== undefined) return undefined;
  return kind && { kind, gzip: gz !== undefined };
}

/** Returns the format for the file name extension of a path; undefined if the extension is unknown. */
export function formatOfPath(path: string): Format | undefined {
  const extension = writtenExtension(path);
  return extension === undefined ? undefined : formatOfName(extension);
}

/**
 * Returns the file name extension for a format, such as `.ndjson.gz`. If `path` has a different extension for the same format, such as
 * `.jsonl` for NDJSON, returns that extension.
 */
export function extensionOf({ kind, gzip }: Format, path: string): string {
  const ofPath = formatOfPath(path);
  if (ofPath?.kind === kind && ofPath.gzip === gzip) return `.${writtenExtension(path)}`;
  return `.${kind}${gzip ? '.gz' : ''}`;
}

function writtenExtension(path: string): string | undefined {
  return /\.([^./\\]+(?:\.gz)?)$/i.exec(path)?.[1];
}

/**
 * Converts rows to the text of a file. The text consists of the results of `begin`, then `write` (any number of calls), then `end`. If a
 * file ends after a row, it can be continued with `write` and `end`.
 */
export interface RecordWriter {
  begin(): string;
  /** The text that separates a row from the row before it. */
  readonly between: string;
  /** Returns rows as text. `isFirst` is true if they are the first rows in the file. */
  write(rows: readonly Fields[], isFirst: boolean): string;
  end(anyWritten: boolean): string;
  /** Returns the failure of a row that the format cannot represent; undefined if it can. */
  misfit(fields: Fields): Failure | undefined;
}
