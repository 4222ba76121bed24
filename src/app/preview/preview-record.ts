import { randomUUID } from 'node:crypto';
import type { Preview } from '../../cli/show/preview.ts';
import type { Terminal } from '../../cli/terminal.ts';
import type { Item } from '../../core/item.ts';
import type { Step } from '../../core/node.ts';
import type { Plan } from '../../core/plan.ts';
import { creditsText } from '../../core/text/number.ts';
import type { Gates } from '../../engine/gates.ts';
import type { Routes } from '../../io/http/routes.ts';
import type { PayingKey } from '../../io/ledger/rest.ts';
import { loadSecrets, noSecrets } from '../flow/flow-secrets.ts';
import { openRunLedger, pricesOf, statesPrice } from '../ports/run-ledger.ts';
import { wire } from '../ports/wire.ts';
import { RequestTest, type RequestTestOptions } from './request-test.ts';

/** A record whose request is previewed. */
export interface PreviewedRecord {
  readonly plan: Plan;
  /** The flow's file. */
  readonly flow: string;
  readonly step: Step;
  readonly item: Item;
  readonly options: RequestTestOptions & { readonly env?: string; readonly allowHttp?: boolean; readonly cacert?: string };
}

/** The parts of a process that a preview shares with its runs, and the API key that pays; absent for its own. */
export interface SharedWithRuns {
  readonly gates?: Gates;
  readonly routes?: Routes;
  readonly key?: PayingKey | undefined;
}

/** Previews one request of a flow, and counts the credits that it costs. `spent`: them; absent if nothing limits or prices them. */
export async function previewRecord(
  { plan, flow, step, item, options }: PreviewedRecord,
  terminal: Terminal,
  { gates, routes, key }: SharedWithRuns = {},
): Promise<{ readonly preview: Preview; readonly spent: number | undefined }> {
  const { env, cacert, allowHttp = false, send } = options;
  const { warn, redactor } = terminal;
  const credentials = send ? await loadSecrets(plan, flow, options, terminal) : noSecrets;
  const ledger = await openRunLedger(send ? pricesOf(plan, env) : new Map(), { run: randomUUID(), env, warn, key });
  const ports = wire({ credentials, redactor, allowHttp, cacert, ledger, env, routes, report: () => {}, warn });
  const spent = () => (send && (ledger.isLimited || statesPrice(plan)) ? ports.credits() : undefined);
  const preview = await new RequestTest(plan, ports, { ...options, gates }, terminal)
    .preview(step, item)
    .catch((error: unknown) => {
      // The nodes before have sent something.
      if (spent()) terminal.say(`${creditsText(ports.credits())} spent`);
      throw error;
    })
    .finally(async () => {
      await ports.close();
      ledger.close();
      await credentials.usesRecorded();
    });
  if (preview.failure) preview.failure.node ??= step.id;
  return { preview, spent: spent() };
}
