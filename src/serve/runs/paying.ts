import { randomUUID } from 'node:crypto';
import { loadFlow } from '../../app/flow/flow-file.ts';
import { payingNow, type SharedParts } from '../../app/flow-runtime.ts';
import { hasTextCells } from '../../app/input/input.ts';
import { openRunLedger, pricesOf } from '../../app/ports/run-ledger.ts';
import type { CodedMessage } from '../../core/error-code.ts';
import type { Plan } from '../../core/plan.ts';
import type { PayingKey } from '../../io/ledger/rest.ts';
import type { Caller } from '../caller.ts';
import { creditsProblem } from '../calls/calls.ts';
import { Problem } from '../problem.ts';
import type { RunFolder } from './run-folder.ts';
import type { StoredRun } from './stored-run.ts';

/** The key that pays, from a stored run; undefined for the page. */
export function payingKey(key: StoredRun['key']): PayingKey | undefined {
  return key ? { quota: undefined, ...key } : undefined;
}

/** The part of a key that is stored with a run. */
export function storedKey(key: PayingKey | undefined): StoredRun['key'] {
  return key ? { id: key.id, name: key.name, ...(key.quota !== undefined && { quota: key.quota }) } : null;
}

/** The plan of a stored run. */
export function storedPlan(
  { options, inputFormat, flow: name }: StoredRun,
  folder: RunFolder,
  { allowHttp, withoutFiles, env }: SharedParts,
): Promise<Plan> {
  const textCells = hasTextCells({ in: folder.input(inputFormat) });
  return loadFlow(folder.flow, { allowHttp, withoutFiles, textCells, name, env, var: options.var, caller: 'now' });
}

/** Throws a Problem (`credits-used-up`) if nothing is left to pay with. */
export async function refuseUnpaid(plan: Plan, key: PayingKey | undefined, shared: SharedParts): Promise<void> {
  const found = await usedUp(plan, key, shared);
  if (found) throw creditsProblem(found);
}

async function usedUp(plan: Plan, key: PayingKey | undefined, shared: SharedParts): Promise<CodedMessage | undefined> {
  const { env, say: warn } = shared;
  const prices = pricesOf(plan, env);
  if (prices.size === 0) return undefined;
  const ledger = await openRunLedger(prices, { run: randomUUID(), env, key: payingNow(key, shared), warn });
  const found = ledger.usedUp();
  ledger.close();
  return found;
}

/**
 * The key that pays for a run that is to be resumed: the key that began the run, or the sender, if the sender wants to and the credits of that
 * key are used up. Throws a Problem: `credits-used-up`, or `scope-missing` if that key has credits left.
 */
export async function nextPayer(
  { stored, folder }: { readonly stored: StoredRun; readonly folder: RunFolder },
  caller: Caller,
  isCharged: boolean,
  shared: SharedParts,
): Promise<StoredRun['key']> {
  // A flow that cannot be read ends the run, with its reason.
  const plan = await storedPlan(stored, folder, shared).catch(() => undefined);
  if (!plan) return stored.key;
  if (!isCharged || caller.owns(stored)) {
    await refuseUnpaid(plan, payingKey(stored.key), shared);
    return stored.key;
  }
  if (!(await usedUp(plan, payingKey(stored.key), shared))) {
    const detail = 'the key that started this run has credits left: only that key can resume it, and the page';
    throw new Problem('scope-missing', detail, { scope: 'run' });
  }
  await refuseUnpaid(plan, caller.key, shared);
  return storedKey(caller.key);
}
