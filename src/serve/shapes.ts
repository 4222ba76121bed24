import * as z from 'zod';
import { textKinds } from '../records/formats.ts';

const range = z.object({ least: z.number(), most: z.number().nullable() });

/** `most` is null if there is no upper bound. */
export type ForecastRange = z.output<typeof range>;

const flowProblem = z.object({ line: z.int().nullable(), column: z.int().nullable(), message: z.string() });

export const flowShape = z.object({
  id: z.string(),
  name: z.string(),
  state: z.enum(['valid', 'invalid']),
  problems: z.array(flowProblem),
  nodes: z.array(z.object({ id: z.string(), type: z.string(), connection: z.string().nullable() })),
  fields: z.array(z.string()).meta({ description: 'the fields that its records need' }),
  adds: z.array(z.string()).meta({ description: 'the fields that it adds' }),
  open_vars: z
    .array(z.object({ name: z.string(), default: z.string().nullable() }))
    .optional()
    .meta({ description: 'the variables that var.NAME=VALUE in a query may set; one whose default is null must be set' }),
  credits_per_record: range,
  updated_at: z.iso.datetime(),
});

export type FlowShape = z.output<typeof flowShape>;

export const runStates = ['queued', 'running', 'stopping', 'stopped', 'finished', 'failed'] as const;

export type ServedRunState = (typeof runStates)[number];

const failureGroup = z.object({
  node: z.string().nullable(),
  class: z.string(),
  status: z.int().nullable(),
  count: z.int(),
  message: z.string(),
});

const counts = z.object({
  read: z.int(),
  written: z.int(),
  rows: z.int().optional().meta({ description: 'the rows in the output; a record can have several, or none' }),
  failed: z.int(),
  filtered: z.int().optional(),
  retries: z.int(),
  waiting: z.int(),
});

export const runShape = z.object({
  id: z.string(),
  flow: z.string(),
  key: z.object({ id: z.string(), name: z.string() }).nullable(),
  state: z.enum(runStates),
  ending: z.string().nullable(),
  exit_code: z.int().nullable(),
  reason: z.string().nullable(),
  created_at: z.iso.datetime(),
  started_at: z.iso.datetime().nullable(),
  ended_at: z.iso.datetime().nullable(),
  format: z.enum(textKinds),
  bytes: z.int(),
  counts,
  share: z.number().optional().meta({ description: 'the finished part of an active run, from 0 to 1, once it is known' }),
  workers: z.int().nullable().meta({ description: 'the number of workers that work on it now; null if it has none' }),
  failures: z.array(failureGroup),
  mapped: z.array(z.object({ node: z.string(), path: z.string(), found: z.int(), of: z.int() })),
  credits: z.number(),
  resumable: z.boolean(),
  retry_of: z.string().nullable(),
  links: z.object({ self: z.string(), events: z.string(), output: z.string(), errors: z.string() }),
});

export type RunShape = z.output<typeof runShape>;

/** The newest run comes first. */
export const runListShape = z.object({ runs: z.array(runShape), next_cursor: z.string().nullable() });

export type RunListShape = z.output<typeof runListShape>;

const shownRow = z.object({
  at: z.int().meta({ description: 'its position in the file, which is its address under /rows/' }),
  row: z.int().nullable().meta({ description: 'its number among the rows; null if it is not known' }),
  failed: z.boolean(),
  cells: z
    .array(z.string().nullable())
    .nullable()
    .meta({ description: 'in the order of the columns, with null for a field that the row has not; null if the row is too long' }),
});

export type ShownRow = z.output<typeof shownRow>;

export const rowsShape = z.object({
  columns: z.array(z.string()),
  total: z.int().nullable().meta({ description: 'the number of all rows; null if it is not known' }),
  first: z.array(shownRow),
  last: z.array(shownRow),
});

export type RowsShape = z.output<typeof rowsShape>;

export const rowShape = z.object({ columns: z.array(z.string()), failed: z.boolean(), cells: z.array(z.string()) });

export type RowShape = z.output<typeof rowShape>;

/** The data of a `progress` event, which tells listeners how far a run is. */
export interface ProgressData
  extends Pick<RunShape['counts'], 'read' | 'written' | 'failed' | 'retries'>,
    Pick<RunShape, 'credits' | 'workers'> {
  readonly records_per_second: number;
  /** From 0 to 1; null while it is unknown. */
  readonly share: number | null;
  readonly eta_s: number | null;
  readonly paused: readonly { readonly gate: string; readonly until: string }[];
}

export const callShape = z.object({ records: z.array(z.record(z.string(), z.unknown())), credits: z.number() });

export const planShape = z.object({
  records: z.int(),
  actions: range,
  credits: range,
  first_request: z.record(z.string(), z.unknown()).nullable(),
});

export type PlanShape = z.output<typeof planShape>;
