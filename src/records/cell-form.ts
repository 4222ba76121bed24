export interface CellForm {
  readonly delimiter: string;
  /** The character before a quote inside quotes. Undefined for a second quote, as in RFC 4180. */
  readonly escape?: string;
  /** Leave out blanks around cells, also before and after their quotes. */
  readonly trim?: boolean;
}

/** Options of csv-parse for CSV as people and programs write it. */
export function parserOptions({ delimiter, escape: escapeChar = '"', trim = false }: CellForm) {
  return {
    ...{ delimiter, escape: escapeChar, trim, record_delimiter: ['\r\n', '\n', '\r'] },
    ...{ relax_column_count: true, relax_quotes: true, skip_empty_lines: true },
  };
}
