import type { Fields } from '../../core/record.ts';
import { textOf } from '../../core/value/value.ts';
import { statOf } from '../../files/stat.ts';
import { RowFile } from '../../records/end-rows.ts';
import { ProblemResponse } from '../problem.ts';
import type { RowShape, RowsShape, ShownRow } from '../shapes.ts';
import type { ServedRun } from './served-run.ts';
import { errorsFormatOf } from './stored-run.ts';

type RunFile = 'output' | 'errors';

/** Characters shown of a cell, and of the name of a column. */
const maxCell = 200;

/** From the files of the run, in which secrets are masked. Texts of more than 200 characters are cut. */
export async function shownRows(
  run: ServedRun,
  of: RunFile,
  wanted: { readonly first: number; readonly last: number },
): Promise<RowsShape> {
  const found = await openRows(run, of);
  if (!found) return { columns: [], total: 0, first: [], last: [] };
  const { file, count } = found;
  try {
    const rows = await file.ends(wanted, (fields, at) => ({ at, failed: hasFailed(fields, of), cells: fields ? cellsOf(fields) : null }));
    const columns = (await file.start()).columns ?? [
      ...new Set([...rows.first, ...rows.last].flatMap(({ cells }) => [...(cells?.keys() ?? [])])),
    ];
    const total = count ?? (rows.isWhole ? rows.first.length + rows.last.length : null);
    return {
      ...{ columns: columns.map(cut), total, first: numberedRows(rows.first, 0, columns) },
      last: numberedRows(rows.last, total === null ? null : total - rows.last.length, columns),
    };
  } finally {
    await file.close();
  }
}

interface ReadRow extends Pick<ShownRow, 'at' | 'failed'> {
  readonly cells: ReadonlyMap<string, string> | null;
}

/** `before` is the number of rows before them; null if it is not known. */
function numberedRows(rows: readonly ReadRow[], before: number | null, columns: readonly string[]): ShownRow[] {
  return rows.map(({ at, failed, cells }, index) => ({
    ...{ at, row: before === null ? null : before + index + 1, failed },
    cells: cells && columns.map((name) => cells.get(name) ?? null),
  }));
}

/** Throws a Problem (`not-found`) if no row begins at this position. */
export async function shownRow(run: ServedRun, of: RunFile, at: number): Promise<RowShape> {
  const found = await openRows(run, of);
  try {
    const fields = await found?.file.rowAt(at);
    if (!fields) throw new ProblemResponse('not-found', `there is no row at ${at} of the ${of}, or it is too long to be shown`);
    return { columns: [...fields.keys()], failed: hasFailed(fields, of), cells: [...fields.values()].map((value) => textOf(value)) };
  } finally {
    await found?.file.close();
  }
}

/** Undefined if the run has written no such file yet. `count` is the number of rows; undefined if it is not known. */
async function openRows(run: ServedRun, of: RunFile): Promise<{ readonly file: RowFile; readonly count: number | undefined } | undefined> {
  const { format, inputFormat, counts } = run.stored;
  const path = of === 'output' ? run.folder.output(format) : run.folder.errors(inputFormat);
  const size = statOf(path)?.size;
  if (size === undefined) return undefined;
  const { out, errors, rows, failed } = (await run.written()) ?? { ...counts, out: { bytes: size }, errors: { bytes: size } };
  const end = Math.min(size, of === 'output' ? out.bytes : (errors?.bytes ?? 0));
  const kind = of === 'output' ? format : errorsFormatOf(inputFormat);
  return { file: await RowFile.open(path, { kind, gzip: false }, end), count: of === 'output' ? rows : failed };
}

/** A record that `on_error: keep` has passed through is in the output, with the field `_error`. */
function hasFailed(fields: Fields | undefined, of: RunFile): boolean {
  return of === 'errors' || textOf(fields?.get('_error') ?? null) !== '';
}

function cellsOf(fields: Fields): Map<string, string> {
  return new Map([...fields].map(([name, value]) => [name, cut(textOf(value))]));
}

function cut(text: string): string {
  return text.length <= maxCell ? text : `${text.slice(0, maxCell).toWellFormed()}…`;
}
