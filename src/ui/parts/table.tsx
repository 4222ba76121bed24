import type { ComponentChildren } from 'preact';

interface TableColumn<Row> {
  /** The title of the column. Empty if it needs none, such as for a column with buttons. */
  readonly title: string;
  /** Numbers are right-aligned. */
  readonly isNumber?: boolean;
  /** True for the column that fills the remaining width. */
  readonly isWide?: boolean;
  cell(row: Row): ComponentChildren;
}

interface TableProps<Row> {
  /** The name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
}

/** A table that scrolls if it does not fit in its panel. */
export function Table<Row>({ label, columns, rows }: TableProps<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: only a focused element can be scrolled with the keyboard
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
