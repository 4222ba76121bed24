import * as z from 'zod';
import { flowId } from '../../run/flow-folder.ts';
import { runShape, runStates } from '../shapes.ts';
import type { StoredRun } from './stored-run.ts';

const time = z.iso.datetime();

const storedKey = z.looseObject({ id: z.string(), name: z.string() });

/** Schema of those members of `run.json` that are used as paths, times, states and figures. A run whose file does not match is ignored. */
const storedShape = z.looseObject({
  flow: z.string().regex(flowId),
  key: storedKey.nullable(),
  payer: storedKey.nullable().optional(),
  options: z.looseObject({}),
  inputFormat: z.enum(['csv', 'tsv', 'json', 'ndjson', 'csv.gz', 'tsv.gz', 'json.gz', 'ndjson.gz', 'xlsx']),
  format: runShape.shape.format,
  bytes: z.number(),
  createdAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  state: z.enum(runStates),
  resumable: z.boolean(),
  parts: z.number(),
  crashes: z.number(),
  counts: runShape.shape.counts,
  totals: z.looseObject({ failures: runShape.shape.failures, mapped: runShape.shape.mapped, retries: z.number(), credits: z.number() }),
  size: z.number().optional(),
  saved: z.number().optional(),
  counted: z.looseObject({ records: z.number(), credits: z.number() }),
});

/** True if the content of a `run.json` has the form that the server writes. */
export function isStoredRun(found: unknown): found is StoredRun {
  return storedShape.safeParse(found).success;
}
