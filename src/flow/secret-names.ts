import { type NamedPlace, type SecretName, secretShapes } from '../core/secret-shapes.ts';

/** How sure a name is: `always` that its value is a secret, or only with a value that looks like one. */
export type Sureness = 'always' | NonNullable<SecretName['if']>;

const rows = secretShapes.filter((shape) => 'named' in shape);

const whole = new Map(
  rows.flatMap((row): [string, Sureness][] => row.in.map((place) => [`${place} ${plain(row.named)}`, row.if ?? 'always'])),
);

const endings = rows.filter(({ named }) => named.startsWith('*-'));

/** What a name says of its value; `undefined` for nothing. */
export function surenessOf(name: string, place: NamedPlace): Sureness | undefined {
  const named = whole.get(`${place} ${plain(name)}`) ?? whole.get(`${place} ${plain(name.replace(/^x[-_]/i, ''))}`);
  if (named || /idempotency/i.test(name)) return named;
  const ending = endings.find((row) => row.in.includes(place) && name.replaceAll('_', '-').toLowerCase().endsWith(row.named.slice(1)));
  return ending?.if;
}

/** A name without what differs from one writer to the next. */
function plain(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase();
}
