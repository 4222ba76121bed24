import type { Event } from '../../core/event.ts';
import { AutomateError, type ErrorKind, Failure, type FailureClass } from '../../core/failure.ts';
import type { Item, RowsText } from '../../core/item.ts';
import type { Fields } from '../../core/record.ts';
import { parseJson } from '../../core/value/json.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import type { Closing } from '../../core/workers/closing.ts';
import type { Unit } from '../../core/workers/workers.ts';

/** A question of a worker that its run answers. */
export type Question =
  | { readonly kind: 'reserve'; readonly gate: string; readonly intervalMs: number; readonly count: number }
  | { readonly kind: 'take-calls'; readonly node: string; readonly calls: number }
  | { readonly kind: 'hold-money'; readonly node: string; readonly max: number; readonly most: number };

/** A report of a worker that needs no answer. */
export type Report =
  | { readonly kind: 'pause'; readonly gate: string; readonly waitMs: number }
  | { readonly kind: 'give-back'; readonly node: string; readonly calls: number }
  | { readonly kind: 'settle'; readonly node: string; readonly cost?: number | undefined }
  | { readonly kind: 'end-money'; readonly node: string; readonly held?: number | undefined; readonly cost?: number | undefined }
  | { readonly kind: 'unstated'; readonly node: string }
  | { readonly kind: 'event'; readonly event: Event }
  | { readonly kind: 'attempt'; readonly attempt: object }
  | { readonly kind: 'warning'; readonly message: string }
  | ({ readonly kind: 'closing' } & Closing)
  | { readonly kind: 'error'; readonly error: ErrorForm };

/** A message to a worker. Units have a form of their own. */
export type ToWorker =
  | { readonly kind: 'run'; readonly manifest: object }
  | ({ readonly kind: 'closing' } & Closing)
  | { readonly kind: 'end' }
  | { readonly kind: 'pause'; readonly gate: string; readonly waitMs: number }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown };

/** A message of a worker: questions, and reports together with the results that followed them. */
export type FromWorker =
  | { readonly kind: 'question'; readonly id: number; readonly question: Question }
  | { readonly kind: 'results'; readonly reports: readonly Report[]; readonly results: readonly ResultForm[] };

/** The result of a record: its unit, its place in it, and its rows as text or its failure. */
export type ResultForm =
  | readonly [unit: number, index: number, rows: number, text: string]
  | readonly [unit: number, index: number, failure: FailureForm];

/** A failure as JSON. */
interface FailureForm {
  readonly kind: FailureClass;
  readonly message: string;
  readonly node?: string | undefined;
  readonly status?: number | undefined;
  readonly attempts: number;
  readonly sent: boolean;
  readonly code?: string | undefined;
  readonly details?: object | undefined;
}

/** An error as JSON. Without a kind, it is a bug. */
export interface ErrorForm {
  readonly kind?: ErrorKind | undefined;
  readonly message: string;
  readonly code?: string | undefined;
  readonly details?: object | undefined;
}

const unitBegin = '{"kind":"unit",';

const tableBegin = `${unitBegin}"columns":`;

/** Some records of a unit as JSON, digits unchanged. `places`: the place of each in the unit. Rows of a table name their columns once. */
export function unitText({ id, items }: Unit, places: readonly number[], isTable: boolean): string {
  const numbers = items.map(({ number }, index) => `[${places[index]},${number}]`).join(',');
  if (isTable) {
    const columns = JSON.stringify([...(items[0] as Item).fields.keys()]);
    const rows = items.map(({ fields }) => JSON.stringify([...fields.values()]));
    return `${tableBegin}${columns},"id":${id},"numbers":[${numbers}],"rows":[${rows.join(',')}]}`;
  }
  const rows = items.map(({ fields }) => `[${JSON.stringify([...fields.keys()])},[${[...fields.values()].map(jsonOf).join(',')}]]`);
  return `${unitBegin}"id":${id},"numbers":[${numbers}],"rows":[${rows.join(',')}]}`;
}

/** True for the text of a unit. */
export function isUnit(text: string): boolean {
  return text.startsWith(unitBegin);
}

interface UnitForm {
  readonly id: number;
  readonly numbers: readonly (readonly [place: number, number: number])[];
  readonly columns?: readonly string[];
  readonly rows: readonly (readonly Value[])[];
}

/** A record of a unit. */
export interface UnitItem extends Item {
  readonly unit: number;
  readonly index: number;
}

/** The records of a unit from its text. */
export function unitItems(text: string): UnitItem[] {
  const isTable = text.startsWith(tableBegin);
  const { id, numbers, columns, rows } = (isTable ? JSON.parse(text) : parseJson(text)) as unknown as UnitForm;
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

/** A failure as JSON, with its message masked. */
export function failureForm(failure: Failure, message: string): FailureForm {
  const { kind, node, status, attempts, sent, code, details } = failure;
  return { kind, message, node, status, attempts, sent, code, details };
}

/** The result of a record from its form. */
export function resultOf(form: ResultForm): RowsText | Failure {
  if (form.length === 4) return { rows: form[2], text: form[3] };
  const { kind, message, node, attempts, ...facts } = form[2];
  const failure = new Failure(kind, message, facts as ConstructorParameters<typeof Failure>[2]);
  failure.node = node;
  failure.attempts = attempts;
  return failure;
}

/** An error as JSON. */
export function errorForm(error: unknown): ErrorForm {
  if (!(error instanceof AutomateError)) return { message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  const { kind, message, code, details } = error;
  return { kind, message, code, details };
}

/** An error from its form. */
export function errorOfForm({ kind, message, code, details }: ErrorForm): Error {
  return kind ? new AutomateError(kind, message, { code, details } as ConstructorParameters<typeof AutomateError>[2]) : new Error(message);
}
