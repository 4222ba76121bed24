import { durationText } from '../../core/duration.ts';
import { variableWith } from '../../credentials/environment.ts';
import { expiryWarning, type StoredCredential } from '../../credentials/secret.ts';

export interface ShownCredential extends Partial<Omit<StoredCredential, 'name' | 'backend'>> {
  readonly name: string;
  readonly backend: string;
  readonly from?: string;
}

const variableShape = /^AUTOMATE_CREDENTIAL_(.+?)(_FILE)?$/;

/** Variables are upper-case, so the credential name of a variable is guessed unless it matches a stored credential. */
export function shownCredentials(
  stored: readonly StoredCredential[],
  environment: NodeJS.ProcessEnv,
): (ShownCredential & { from: string })[] {
  const given = Object.keys(environment)
    .filter((variable) => variableShape.test(variable) && environment[variable])
    // A variable with the secret takes precedence over one with the suffix _FILE, which names a file with the secret.
    .filter((variable) => !variable.endsWith('_FILE') || !environment[variable.slice(0, -'_FILE'.length)])
    .sort()
    .map((variable) => {
      const [, stem = '', file] = variableShape.exec(variable) ?? [];
      const match = stored.find(({ name }) => variableWith(name, environment) === variable)?.name;
      return { name: match ?? stem.toLowerCase().replaceAll('_', '-'), backend: file ? 'file' : 'environment', from: variable };
    });
  const listed = stored.map((credential) => ({
    ...credential,
    backend: credential.command === undefined ? credential.backend : 'command',
  }));
  return [...given, ...listed.map((credential) => ({ ...credential, from: credential.backend }))];
}

export function credentialJson(shown: ShownCredential): object {
  const { name, env, backend, setAt, expiresAt, hosts, lastUsedAt, previous, command, forMs } = shown;
  const orNull = (value: unknown) => value ?? null;
  return {
    name,
    env: orNull(env),
    backend,
    set_at: orNull(setAt),
    expires_at: orNull(expiresAt),
    last_used_at: orNull(lastUsedAt),
    hosts: orNull(hosts),
    previous_set_at: orNull(previous?.setAt),
    ...(command !== undefined && { command, for_ms: orNull(forMs) }),
  };
}

export function credentialRows(shown: readonly ShownCredential[], nowMs: number): string[][] {
  return [
    ['name', 'env', 'backend', 'age', 'expires', 'last used', 'hosts'],
    ...shown.map(({ name, env = '-', backend, setAt, expiresAt, lastUsedAt, hosts }) => [
      name,
      env,
      backend,
      agoText(setAt, nowMs),
      expiryText(expiresAt, nowMs),
      lastUsedAt === undefined && setAt !== undefined ? 'never' : agoText(lastUsedAt, nowMs),
      hosts?.join(', ') ?? '-',
    ]),
  ];
}

export function credentialText(shown: ShownCredential, nowMs: number): string {
  const [head = [], row = []] = credentialRows([shown], nowMs);
  const previous = shown.previous ? [['previous', `set ${agoText(shown.previous.setAt, nowMs)} ago`]] : [];
  const { command, forMs } = shown;
  const given = command === undefined ? [] : [['command', command], ...(forMs === undefined ? [] : [['for', durationText(forMs)]])];
  const lines = [...head.map((label, index) => [label, row[index] ?? '']), ...previous, ...given];
  const warning = expiryWarning(shown.name, shown.expiresAt, nowMs);
  return [...lines.map(([label = '', text = '']) => `${`${label}:`.padEnd(11)}${text}`), ...(warning ? [warning] : [])].join('\n');
}

function expiryText(expiresAt: string | undefined, nowMs: number): string {
  if (expiresAt === undefined) return '-';
  return Date.parse(expiresAt) <= nowMs ? `expired ${expiresAt.slice(0, 10)}` : expiresAt.slice(0, 10);
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

export function agoText(time: string | undefined, nowMs: number): string {
  if (time === undefined) return '-';
  const ms = Math.max(0, nowMs - Date.parse(time));
  const [unit, unitMs] = units.find(([, size]) => ms >= size) ?? (['s', 1000] as const);
  return `${Math.floor(ms / unitMs)}${unit}`;
}
