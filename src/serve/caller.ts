import type { ApiKey, Scope } from '../io/server/api-key.ts';
import { seesFlow, seesRun } from './keys/access.ts';
import { Problem } from './problem.ts';

/** An API key that was let in. */
export type LetInKey = Pick<ApiKey, 'id' | 'name' | 'scopes' | 'flows' | 'quota'>;

/** The sender of a request: an API key, or a user of the page. */
export class Caller {
  /** `key`: absent for a user of the page, who may do everything. */
  constructor(readonly key: LetInKey | undefined) {}

  /** Throws a Problem (`scope-missing`) unless the sender has one of these scopes. An empty list allows every sender. */
  need(...wanted: readonly Scope[]): void {
    if (!this.key || wanted.length === 0 || wanted.some((scope) => this.key?.scopes.includes(scope))) return;
    const scope = wanted[0] as Scope;
    throw new Problem('scope-missing', `expected a key with the scope "${wanted.join('" or "')}"`, { scope });
  }

  /** True if the sender may see the flow. */
  sees(flow: string): boolean {
    return !this.key || seesFlow(this.key, flow);
  }

  /** True for the page, and for the key that has started the run. */
  owns({ key }: { readonly key: { readonly id: string } | null }): boolean {
    return !this.key || key?.id === this.key.id;
  }

  /** Throws a Problem (`scope-missing`) unless the sender may change the run: a key only changes the runs that it has started itself. */
  needOwn(run: { readonly key: { readonly id: string } | null }): void {
    if (this.owns(run)) return;
    const detail = 'this run was started by another key, or on the page: only that key can stop, resume, retry or delete it, and the page';
    throw new Problem('scope-missing', detail, { scope: 'run' });
  }

  /** True if the sender may see the run: a run of one of its flows, which it has started unless it may read all runs. */
  seesRun({ flow, key }: { readonly flow: string; readonly key: { readonly id: string } | null }): boolean {
    return !this.key || seesRun(this.key, { flow, key: key?.id });
  }
}
