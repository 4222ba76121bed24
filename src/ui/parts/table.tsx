import type { ComponentChildren } from 'preact';

/** A column of a table. */
export interface Column<Row> {
  /** Empty for a column that needs no title, such as one of buttons. */
  readonly title: string;
  /** True for a column of numbers, which are aligned right. */
  readonly isNumber?: boolean;
  /** True for the column that takes the width that the other columns leave. */
  readonly isWide?: boolean;
  cell(row: Row): ComponentChildren;
}

interface TableProps<Row> {
  /** The name of the table, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
}

/** A table that scrolls if it does not fit into its panel. */
export function Table<Row>({ label, columns, rows }: TableProps<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: only what has the focus scrolls by the keyboard
    <section class="scroll" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) =>
              title === '' ? (
                <td key={title} />
              ) : (
                <th key={title} scope="col" class={isNumber ? 'n' : undefined}>
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {columns.map(({ title, isNumber, isWide, cell }) => (
                <td key={title} class={isNumber ? 'n' : isWide ? 'wide' : undefined}>
                  {isWide ? cell(row) : <div class="cell">{cell(row)}</div>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
