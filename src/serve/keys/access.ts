import type { ApiKey, Scope } from '../store/api-key.ts';

type KeyRights = Pick<ApiKey, 'scopes' | 'flows'>;

/** True if an API key has at least one of these scopes. */
export function hasScope({ scopes }: KeyRights, ...wanted: readonly Scope[]): boolean {
  return wanted.some((scope) => scopes.includes(scope));
}

/** True if an API key may see a flow. */
export function seesFlow({ flows }: KeyRights, flow: string): boolean {
  return flows === undefined || flows.includes(flow);
}

/**
 * True if an API key may see a run. With the scope `read` it sees every run of its flows, otherwise only the runs that it started.
 * `run.key` is the id of the key that started the run.
 */
export function seesRun(key: KeyRights & Pick<ApiKey, 'id'>, run: { readonly flow: string; readonly key: string | undefined }): boolean {
  if (hasScope(key, 'read')) return seesFlow(key, run.flow);
  return hasScope(key, 'run') && run.key === key.id;
}
