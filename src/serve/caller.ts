import { ProblemResponse } from './problem.ts';
import type { ApiKey, Scope } from './store/api-key.ts';

/** The parts of an accepted API key that decide what its requests may do. */
export type LetInKey = Pick<ApiKey, 'id' | 'name' | 'scopes' | 'flows' | 'quota'>;

export class Caller {
  /** `key` is undefined for a user of the web page, who may do everything. */
  constructor(readonly key: LetInKey | undefined) {}

  /** Throws a Problem (`scope-missing`) unless the sender has one of these scopes. If none is listed, every sender is allowed. */
  need(...wanted: readonly Scope[]): void {
    if (!this.key || wanted.length === 0 || wanted.some((scope) => this.key?.scopes.includes(scope))) return;
    const scope = wanted[0] as Scope;
    throw new ProblemResponse('scope-missing', `expected a key with the scope "${wanted.join('" or "')}"`, { scope });
  }

  sees(flow: string): boolean {
    return !this.key || seesFlow(this.key, flow);
  }

  /** True for a user of the web page, and for the API key that started the run. */
  owns({ key }: { readonly key: { readonly id: string } | null }): boolean {
    return !this.key || key?.id === this.key.id;
  }

  /** Throws a Problem (`scope-missing`) unless the sender may change the run. An API key may only change runs that it has started. */
  needOwn(run: { readonly key: { readonly id: string } | null }): void {
    if (this.owns(run)) return;
    const detail =
      'this run was started by a different key, or on the page: only that key and the page can stop, resume, retry or delete it';
    throw new ProblemResponse('scope-missing', detail, { scope: 'run' });
  }

  /** An API key with the right to read sees all runs of its flows. Any other key sees only the runs that it has started. */
  seesRun({ flow, key }: { readonly flow: string; readonly key: { readonly id: string } | null }): boolean {
    return !this.key || seesRun(this.key, { flow, key: key?.id });
  }
}

type KeyRights = Pick<ApiKey, 'scopes' | 'flows'>;

/** @internal */
export function hasScope({ scopes }: KeyRights, ...wanted: readonly Scope[]): boolean {
  return wanted.some((scope) => scopes.includes(scope));
}

/** @internal */
export function seesFlow({ flows }: KeyRights, flow: string): boolean {
  return flows === undefined || flows.includes(flow);
}

/**
 * With the scope `read`, a key sees every run of its flows, otherwise only its own. `run.key` is the id of the key that started the run.
 * @internal
 */
export function seesRun(key: KeyRights & Pick<ApiKey, 'id'>, run: { readonly flow: string; readonly key: string | undefined }): boolean {
  if (hasScope(key, 'read')) return seesFlow(key, run.flow);
  return hasScope(key, 'run') && run.key === key.id;
}
