import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { CodedMessage } from '../../core/error-code.ts';
import type { Plan } from '../../core/plan.ts';
import { openRunLedger, pricesOf } from '../../credits/prices.ts';
import type { PayingKey } from '../../credits/rest.ts';
import { hasTextCells } from '../../records/inputs.ts';
import { compileFlow, readFlowText } from '../../run/flow-file.ts';
import { payingNow, type SharedParts } from '../../run/flow-runtime.ts';
import type { Caller } from '../caller.ts';
import { creditsProblem } from '../calls.ts';
import { ProblemResponse } from '../problem.ts';
import type { RunFolder } from './run-folder.ts';
import type { StoredRun } from './stored-run.ts';

/** Null for the web page. */
export function storedKey(key: PayingKey | undefined): StoredRun['key'] {
  return key ? { id: key.id, name: key.name, quota: key.quota } : null;
}

/** The run has its own copies of the flow and its schemas. Other paths in the flow are relative to the folder of the flows. */
export async function storedPlan(
  { options, inputFormat, flow: name }: StoredRun,
  folder: RunFolder,
  { allowHttp, withoutFiles, env, flows = '' }: SharedParts,
): Promise<Plan> {
  const textCells = hasTextCells({ in: folder.input(inputFormat) });
  const [text, files] = await Promise.all([readFlowText(folder.flow, 'flow file'), folder.flowFiles()]);
  return compileFlow(text, join(flows, `${name}.yaml`), {
    ...{ allowHttp, withoutFiles, textCells, name, env, files },
    ...{ var: options.var, caller: 'now' },
  });
}

/** Throws a Problem (`credits-used-up`) if the API key has no credits left for the plan. */
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
 * Returns the API key that pays for a resumed run. It is normally the key that started the run. If that key has no credits left and the
 * sender agrees to pay, it is the sender's key. Throws a Problem: `credits-used-up` if the paying key has no credits left, `scope-missing`
 * if the sender agreed to pay but the first key still has credits.
 */
export async function nextPayer(
  { stored, folder }: { readonly stored: StoredRun; readonly folder: RunFolder },
  caller: Caller,
  isCharged: boolean,
  shared: SharedParts,
): Promise<StoredRun['key']> {
  // If the flow cannot be read, the resumed run will fail and report why.
  const plan = await storedPlan(stored, folder, shared).catch(() => undefined);
  if (!plan) return stored.key;
  if (!isCharged || caller.owns(stored)) {
    await refuseUnpaid(plan, stored.key ?? undefined, shared);
    return stored.key;
  }
  if (!(await usedUp(plan, stored.key ?? undefined, shared))) {
    const detail = 'the key that started this run has credits left: only that key and the page can resume it';
    throw new ProblemResponse('scope-missing', detail, { scope: 'run' });
  }
  await refuseUnpaid(plan, caller.key, shared);
  return storedKey(caller.key);
}
