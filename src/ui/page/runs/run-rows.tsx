import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { counted, formatCount } from '../../../core/text/number.ts';
import type { RowShape, RowsShape, RunShape, ShownRow } from '../../../serve/shapes.ts';
import { Empty, Panel } from '../../parts/tiles.tsx';
import { LoadedView } from '../frame/feedback.tsx';
import { Dialog } from '../frame/fields.tsx';
import { useLoaded } from '../use-loaded.ts';

type RowsOf = 'output' | 'errors';

interface RowsProps {
  readonly run: RunShape;
  /** Those of `run` are of the moment at which it was loaded. */
  readonly counts: Pick<RunShape['counts'], 'written' | 'failed'>;
  readonly of: RowsOf;
  /** Interval in ms at which the rows of an active run are loaded; undefined for a run that has ended. */
  readonly everyMs: number | undefined;
}

const titles = { output: 'Output', errors: 'Failed records' } as const;

/** Tables of the first and the last rows that the run has written, and of the records that failed. */
export function RunRows(props: Omit<RowsProps, 'of'>) {
  return (
    <>
      <RowsPanel {...props} of="output" />
      {props.counts.failed > 0 && <RowsPanel {...props} of="errors" />}
    </>
  );
}

function RowsPanel({ run: { id, state }, counts, of, everyMs }: RowsProps) {
  const path = `/runs/${encodeURIComponent(id)}/rows`;
  const rows = useLoaded<RowsShape>(state === 'queued' ? undefined : `${path}?of=${of}`, everyMs);
  const [opened, setOpened] = useState<ShownRow>();
  const loadedIn = useRef(state);
  useEffect(() => {
    // The last rows might have been written just before the state changed.
    if (loadedIn.current !== state) rows.reload();
    loadedIn.current = state;
  }, [state]);
  // A table of many rows is not rendered again when a row is opened.
  const table = useMemo(() => rows.data && <RowsTable rows={rows.data} of={of} onOpen={setOpened} />, [rows.data, of]);
  if (state === 'queued') return null;
  return (
    <Panel title={titles[of]} note={rows.data && noteOf(rows.data, of, everyMs === undefined ? counts.written : undefined)}>
      <LoadedView loaded={rows}>
        {(loaded) =>
          loaded.first.length + loaded.last.length === 0 ? (
            <Empty>{everyMs === undefined ? 'There are no rows.' : 'No row is written yet.'}</Empty>
          ) : (
            table
          )
        }
      </LoadedView>
      {opened && <RowDialog path={`${path}/${opened.at}?of=${of}`} row={opened} of={of} onClose={() => setOpened(undefined)} />}
    </Panel>
  );
}

/** `written` is the number of records in the output; undefined while it changes. */
function noteOf({ total, first, last }: RowsShape, of: RowsOf, written: number | undefined): string | undefined {
  if (total === 0) return undefined;
  const ofRecords = of === 'output' && written !== undefined && total !== written ? ` of ${counted(written, 'record')}` : '';
  const all = total === null ? [] : [`${counted(total, of === 'output' ? 'row' : 'record')}${ofRecords}`];
  const isCut = total !== first.length + last.length;
  return [...all, ...(isCut ? [`the first ${formatCount(first.length)} and the last ${formatCount(last.length)}`] : [])].join(', ');
}

/** Wide tables are slow, and nobody reads so many columns side by side. */
const maxColumns = 50;

interface RowsTableProps {
  readonly rows: RowsShape;
  readonly of: RowsOf;
  readonly onOpen: (row: ShownRow) => void;
}

function RowsTable({ rows: { columns, total, first, last }, of, onOpen }: RowsTableProps) {
  const [isWide, setWide] = useState(false);
  const order = columnOrder(columns);
  const reasons = reasonsIn(columns);
  const shown = isWide ? order : order.slice(0, maxColumns);
  const between = total === null ? undefined : total - first.length - last.length;
  const rowsOf = (rows: readonly ShownRow[]) =>
    rows.map((row) => <TableRow key={row.at} row={row} columns={shown} reasons={reasons} onOpen={onOpen} />);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: only a focused element can be scrolled with the keyboard */}
      <section class="scroll rows" tabIndex={0} aria-label={`Rows: ${titles[of]}`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Row</th>
              {shown.map((index) => (
                <th key={index} scope="col">
                  <bdi class="clip">{visible(columns[index])}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rowsOf(first)}
            {between !== 0 && (
              <tr class="gap">
                <td colSpan={shown.length + 1}>{between === undefined ? 'more rows' : counted(between, 'more row')}</td>
              </tr>
            )}
            {rowsOf(last)}
          </tbody>
        </table>
      </section>
      {shown.length < columns.length && (
        <button type="button" onClick={() => setWide(true)}>
          Show all {formatCount(columns.length)} columns
        </button>
      )}
    </>
  );
}

/** Indexes of the columns that say why a record failed. */
function reasonsIn(columns: readonly string[]): ReadonlySet<number> {
  return new Set(columns.flatMap((name, index) => (/^_error(?:_message)?$/.test(name) ? [index] : [])));
}

/** The reason of a failure comes first, because the record's own columns can be many. */
function columnOrder(columns: readonly string[]): number[] {
  const indexes = columns.map((_, index) => index);
  const reasons = reasonsIn(columns);
  return [...reasons, ...indexes.filter((index) => !reasons.has(index))];
}

interface TableRowProps {
  readonly row: ShownRow;
  readonly columns: readonly number[];
  readonly reasons: ReadonlySet<number>;
  readonly onOpen: (row: ShownRow) => void;
}

function TableRow({ row, columns, reasons, onOpen }: TableRowProps) {
  const { cells, failed } = row;
  return (
    // Selected text is meant to be copied.
    <tr onClick={() => getSelection()?.isCollapsed !== false && onOpen(row)}>
      <td class="nowrap">
        <button type="button" class="path" aria-label={`Show ${nameOf(row)}`} aria-haspopup="dialog" onClick={() => onOpen(row)}>
          {row.row === null ? '…' : formatCount(row.row)}
        </button>{' '}
        {failed && <span class="state bad">failed</span>}
      </td>
      {cells === null ? (
        <td colSpan={columns.length}>too long to be shown; the file has it</td>
      ) : (
        columns.map((index) => (
          <td key={index}>
            <bdi class={reasons.has(index) ? 'clip reason' : 'clip'}>{visible(cells[index])}</bdi>
          </td>
        ))
      )}
    </tr>
  );
}

function nameOf({ row }: ShownRow): string {
  return row === null ? 'a row' : `row ${formatCount(row)}`;
}

/** Control characters could hide text, or show it in another order than it has, such as the name of a file. */
function visible(text: string | null | undefined): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to show
  return (text ?? '').replace(/[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, escaped);
}

interface RowDialogProps {
  readonly path: string;
  readonly row: ShownRow;
  readonly of: RowsOf;
  readonly onClose: () => void;
}

function RowDialog({ path, row, of, onClose }: RowDialogProps) {
  const whole = useLoaded<RowShape>(path);
  const title = `${nameOf(row).replace(/^./, (letter) => letter.toUpperCase())} of ${titles[of].toLowerCase()}`;
  return (
    <Dialog title={title} onClose={onClose}>
      {row.failed && (
        <p>
          <span class="state bad">failed</span>
        </p>
      )}
      <LoadedView loaded={whole}>
        {({ columns, cells }) => (
          <dl class="record">
            {columnOrder(columns).map((index) => (
              <div key={index}>
                <dt>
                  <bdi>{visible(columns[index])}</bdi>
                </dt>
                <dd>
                  <WholeCell text={cells[index] ?? ''} />
                </dd>
              </div>
            ))}
          </dl>
        )}
      </LoadedView>
    </Dialog>
  );
}

/** Longer texts make a browser slow, and hide the fields after them. */
const maxText = 2000;

function WholeCell({ text }: { readonly text: string }) {
  const [isAll, setAll] = useState(false);
  if (text === '') return <span class="dim">empty</span>;
  const isCut = !isAll && text.length > maxText;
  return (
    <>
      <pre dir="auto">{visible(isCut ? text.slice(0, maxText).toWellFormed() : text)}</pre>
      {isCut && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {formatCount(text.length)} characters
        </button>
      )}
    </>
  );
}
