import { variableWith } from '../../io/credentials/environment.ts';
import { expiryWarning, type StoredCredential } from '../../io/credentials/secret.ts';

/** A credential as it is listed. */
export interface ShownCredential extends Partial<Omit<StoredCredential, 'name' | 'backend'>> {
  readonly name: string;
  readonly backend: string;
  /** The variable it comes from; absent for one that is kept. */
  readonly from?: string;
}

const variableShape = /^AUTOMATE_CREDENTIAL_(.+?)(_FILE)?$/;

/** The kept credentials, and those that variables hold. Of a variable only upper case is known, so its name is a guess unless a kept one has it. */
export function shownCredentials(
  kept: readonly StoredCredential[],
  environment: NodeJS.ProcessEnv,
): (ShownCredential & { from: string })[] {
  const given = Object.keys(environment)
    .filter((variable) => variableShape.test(variable) && environment[variable])
    // Of both, the variable itself goes first.
    .filter((variable) => !variable.endsWith('_FILE') || !environment[variable.slice(0, -'_FILE'.length)])
    .sort()
    .map((variable) => {
      const [, stem = '', file] = variableShape.exec(variable) ?? [];
      const known = kept.find(({ name }) => variableWith(name, environment) === variable)?.name;
      return { name: known ?? stem.toLowerCase().replaceAll('_', '-'), backend: file ? 'file' : 'environment', from: variable };
    });
  return [...given, ...kept.map((credential) => ({ ...credential, from: credential.backend }))];
}

/** A credential in JSON. */
export function credentialJson({ name, env, backend, setAt, expiresAt, hosts, lastUsedAt, previous }: ShownCredential): object {
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
  };
}

/** Credentials as the rows of a table, with its head. */
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

/** One credential, a line for each thing that is known of it. */
export function credentialText(shown: ShownCredential, nowMs: number): string {
  const [head = [], row = []] = credentialRows([shown], nowMs);
  const previous = shown.previous ? [['before it', `one set ${agoText(shown.previous.setAt, nowMs)} ago`]] : [];
  const lines = [...head.map((label, index) => [label, row[index] ?? '']), ...previous];
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

/** How long ago, in the largest unit that fits. */
function agoText(time: string | undefined, nowMs: number): string {
  if (time === undefined) return '-';
  const ms = Math.max(0, nowMs - Date.parse(time));
  const [unit, unitMs] = units.find(([, size]) => ms >= size) ?? (['s', 1000] as const);
  return `${Math.floor(ms / unitMs)}${unit}`;
}
