import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';

/** Reads a table of examples that lies in this folder. */
export function readTable<Column extends string>(name: string): Record<Column, string>[] {
  return parse(readFileSync(new URL(name, import.meta.url)), { columns: true });
}
