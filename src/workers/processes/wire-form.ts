import type { Event } from '../../core/event.ts';
import { AutomateError, type ErrorKind, type Failure } from '../../core/failure.ts';
import { type FailureForm, failureOf } from '../../core/failure-form.ts';
import type { Item, RowsText } from '../../core/item.ts';
import type { Fields } from '../../core/record.ts';
import type { Cost } from '../../core/spending.ts';
import type { SaveNames } from '../../core/transfer.ts';
import { parseJson } from '../../core/value/json.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import type { Closing } from '../../engine/phase.ts';
import type { Unit } from '../../engine/unit-passage.ts';

export type WorkerQuestion =
  | { readonly kind: 'hold-credits'; readonly node: string; readonly calls: number }
  | { readonly kind: 'hold-money'; readonly node: string; readonly max: number; readonly most: number }
  | SaveQuestion;

/** A call of a function in the run's SaveNames, which keeps track of saved files. */
export interface SaveQuestion {
  readonly kind: 'save';
  readonly act: keyof SaveNames;
  readonly path: string;
  readonly owner: string;
  /** Undefined unless `act` is `note`. */
  readonly bytes?: number;
}

/** Unlike a question, a report needs no answer. */
export type WorkerReport =
  | { readonly kind: 'settle-credits'; readonly node: string; readonly cost?: number }
  | { readonly kind: 'release-credits'; readonly node: string; readonly calls: number }
  | { readonly kind: 'settle-money'; readonly node: string; readonly held?: number; readonly cost: Cost }
  | { readonly kind: 'release-money'; readonly node: string; readonly held: number }
  | { readonly kind: 'event'; readonly event: Event }
  | { readonly kind: 'attempt'; readonly attempt: object }
  | { readonly kind: 'warning'; readonly message: string }
  | ({ readonly kind: 'closing' } & Closing)
  | { readonly kind: 'error'; readonly error: ErrorForm };

/** The number of the channel for messages that concern a whole child process. Each run has a channel with a different number. */
export const processChannel = 0;

export interface PauseMessage {
  readonly kind: 'pause';
  readonly gate: string;
  readonly waitMs: number;
  /** True if a server refused a call, and the process goes on at a learned pace. */
  readonly isPaced?: boolean;
}

/** A message from a child process about the gates (the rate limiters of APIs) that all its runs share. */
export type ToProcess =
  | { readonly kind: 'reserve'; readonly id: number; readonly gate: string; readonly intervalMs: number; readonly count: number }
  | { readonly kind: 'release'; readonly gate: string }
  | PauseMessage;

/** A message to a worker. Units are not sent in this form, but as text (see `unitText`). */
export type ToWorker =
  | { readonly kind: 'run'; readonly manifest: object }
  | ({ readonly kind: 'closing' } & Closing)
  | { readonly kind: 'end' }
  | PauseMessage
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown };

export type FromWorker =
  | { readonly kind: 'ended' }
  | { readonly kind: 'question'; readonly id: number; readonly question: WorkerQuestion }
  | { readonly kind: 'results'; readonly reports: readonly WorkerReport[]; readonly results: readonly ResultForm[] };

/** `index` is the position within the unit. `pieces` is the number of pieces sent earlier; undefined if there are none. */
export type ResultForm =
  | readonly [unit: number, index: number, rows: number, text: string, pieces?: number]
  | readonly [unit: number, index: number, failure: FailureForm]
  | PieceForm;

/** A piece of the text of a record's rows. `at` is the 0-based index of the piece. */
type PieceForm = readonly [unit: number, index: number, piece: { readonly at: number; readonly text: string }];

/** An error without a kind is a bug. */
interface ErrorForm {
  readonly kind?: ErrorKind;
  readonly message: string;
  readonly code?: string;
  readonly details?: object;
}

const unitBegin = '{"kind":"unit",';

const tableBegin = `${unitBegin}"columns":`;

/** Numbers keep all digits. `places` are positions within the unit. For one table, the column names are written only once. */
export function unitText({ id, items }: Unit, places: readonly number[], hasHeader: boolean): string {
  const numbers = items.map(({ number }, index) => `[${places[index]},${number}]`).join(',');
  const [first, last] = [items[0] as Item, items.at(-1) as Item];
  // If there are several input files, their columns can have different orders.
  if (hasHeader && first.end.file === last.end.file) {
    const columns = JSON.stringify([...first.fields.keys()]);
    const rows = items.map(({ fields }) => JSON.stringify([...fields.values()]));
    return `${tableBegin}${columns},"id":${id},"numbers":[${numbers}],"rows":[${rows.join(',')}]}`;
  }
  const rows = items.map(({ fields }) => `[${JSON.stringify([...fields.keys()])},[${[...fields.values()].map(jsonOf).join(',')}]]`);
  return `${unitBegin}"id":${id},"numbers":[${numbers}],"rows":[${rows.join(',')}]}`;
}

export function isUnit(text: string): boolean {
  return text.startsWith(unitBegin);
}

interface UnitForm {
  readonly id: number;
  readonly numbers: readonly (readonly [place: number, number: number])[];
  readonly columns?: readonly string[];
  readonly rows: readonly (readonly Value[])[];
}

export interface UnitItem extends Item {
  readonly unit: number;
  readonly index: number;
}

export function unitItems(text: string): UnitItem[] {
  const hasHeader = text.startsWith(tableBegin);
  const { id, numbers, columns, rows } = (hasHeader ? JSON.parse(text) : parseJson(text)) as unknown as UnitForm;
  return numbers.map(([index, number], at) => {
    const row = rows[at] as readonly Value[];
    const [names, values] = columns ? [columns, row] : (row as unknown as [readonly string[], readonly Value[]]);
    return { number, fields: rowFields(names, values), end: { offset: 0, line: 0 }, unit: id, index };
  });
}

function rowFields(names: readonly string[], values: readonly Value[]): Fields {
  const fields = new Map<string, Value>();
  for (let at = 0; at < names.length; at++) fields.set(names[at] as string, values[at] as Value);
  return fields;
}

export function isPiece(form: ResultForm): form is PieceForm {
  return form.length === 3 && 'at' in form[2];
}

export function resultOf(form: Exclude<ResultForm, PieceForm>): RowsText | Failure {
  if (form.length !== 3) return { rows: form[2], text: form[3] };
  return failureOf(form[2]);
}

export function errorForm(error: unknown): ErrorForm {
  if (!(error instanceof AutomateError)) return { message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  const { kind, message, code, details } = error;
  return { kind, message, code, details };
}

export function errorOfForm({ kind, message, code, details }: ErrorForm): Error {
  return kind ? new AutomateError(kind, message, { code, details } as ConstructorParameters<typeof AutomateError>[2]) : new Error(message);
}
