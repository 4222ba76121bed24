import { Problem } from './problem.ts';

/** The rights that a key can have. */
export const scopes = ['run', 'test', 'read'] as const;

export type Scope = (typeof scopes)[number];

/** An API key that was let in. */
export interface LetInKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Ids of the flows that it may use; absent for all. */
  readonly flows: readonly string[] | undefined;
  /** Credits a calendar month; absent for no limit of its own. */
  readonly quota: number | undefined;
}

/** The sender of a request: an API key, or a person with the page. */
export class Caller {
  /** `key`: absent for a person with the page, who may do everything. */
  constructor(readonly key: LetInKey | undefined) {}

  /** Throws a Problem (`scope-missing`) unless it has one of these scopes. */
  need(...wanted: readonly Scope[]): void {
    if (!this.key || wanted.some((scope) => this.key?.scopes.includes(scope))) return;
    const scope = wanted[0] as Scope;
    throw new Problem('scope-missing', `expected a key with the scope "${wanted.join('" or "')}"`, { scope });
  }

  has(scope: Scope): boolean {
    return !this.key || this.key.scopes.includes(scope);
  }

  /** True if the flow exists for it. */
  sees(flow: string): boolean {
    return !this.key?.flows || this.key.flows.includes(flow);
  }

  /** True if the run exists for it: one of its flows, and started by itself unless it may read all. */
  seesRun({ flow, key }: { readonly flow: string; readonly key: { readonly id: string } | null }): boolean {
    if (!this.key) return true;
    return this.has('read') ? this.sees(flow) : key?.id === this.key.id;
  }
}
