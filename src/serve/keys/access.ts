import type { ApiKey, Scope } from '../../io/server/api-key.ts';

type KeyRights = Pick<ApiKey, 'scopes' | 'flows'>;

/** True if a key has one of these scopes. */
export function hasScope({ scopes }: KeyRights, ...wanted: readonly Scope[]): boolean {
  return wanted.some((scope) => scopes.includes(scope));
}

/** True if a key may see a flow. */
export function seesFlow({ flows }: KeyRights, flow: string): boolean {
  return flows === undefined || flows.includes(flow);
}

/** True if a key may see a run: with `read` every run of the key's flows, else only runs that the key has begun. `run.key`: the id of the key that began the run. */
export function seesRun(key: KeyRights & Pick<ApiKey, 'id'>, run: { readonly flow: string; readonly key: string | undefined }): boolean {
  if (hasScope(key, 'read')) return seesFlow(key, run.flow);
  return hasScope(key, 'run') && run.key === key.id;
}
