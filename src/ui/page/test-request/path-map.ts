/** The `map` of a node, from names of fields to paths in a response. */
export type PathMap = Readonly<Record<string, string>>;

/**
 * Returns the map with a path added to it, under a name that is not in `taken`. If the map already contains the path, removes it instead.
 */
export function toggled(map: PathMap, path: string, taken: readonly string[] = []): PathMap {
  if (Object.values(map).includes(path)) return Object.fromEntries(Object.entries(map).filter(([, other]) => other !== path));
  return { ...map, [freeField(map, path, taken)]: path };
}

/** Keeps the order of the fields. If the new name cannot be used, the map stays unchanged. */
export function renamed(map: PathMap, field: string, name: string): PathMap {
  if (name === '' || (name !== field && name in map)) return map;
  return Object.fromEntries(Object.entries(map).map(([other, path]) => [other === field ? name : other, path]));
}

/** Returns a field name that the map does not use yet. It is the last name in the path, followed by a number if necessary. */
function freeField(map: PathMap, path: string, taken: readonly string[]): string {
  const name = stepsOf(path).findLast((step) => typeof step === 'string' && step !== each) ?? 'value';
  const base = String(name).replace(/^\$/, '');
  for (let number = 1; ; number++) {
    const field = number === 1 ? base : `${base}_${number}`;
    if (!(field in map || taken.includes(field))) return field;
  }
}

export function mapYaml(map: PathMap): string {
  const entries = Object.entries(map);
  if (entries.length === 0) return 'map: {}';
  return ['map:', ...entries.map(([field, path]) => `  ${yamlWord(field)}: ${yamlWord(path)}`)].join('\n');
}

/** Returns a string as YAML. It is put in quotes if YAML could read it as something else, such as a number. */
function yamlWord(text: string): string {
  const isPlain = /^[A-Za-z_][\w.[\]-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}

/** Stands for each element of an array. */
const each = '[]';

/** Splits a path such as `data.items[].price`, `list[0]` or `["odd key"]` into its steps. */
function stepsOf(path: string): (string | number)[] {
  const steps: (string | number)[] = [];
  for (const [, name, index, quoted] of path.matchAll(/([^.[\]"]+)|\[(?:(\d+)|("(?:[^"\\]|\\.)*"))?\]/g)) {
    if (name !== undefined) steps.push(name);
    else if (index !== undefined) steps.push(Number(index));
    else steps.push(quoted === undefined ? each : unquoted(quoted));
  }
  return steps;
}

function unquoted(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted;
  }
}

/** The parts of a response at which a path in a `map` can start. */
export interface MappedParts {
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
}

const maxRows = 20;

/** A path with `[]` makes one row for each element of the array. The other fields are the same in all these rows. */
export function mappedRows(map: PathMap, answer: MappedParts): Record<string, unknown>[] {
  const fields = Object.entries(map).map(([field, path]) => ({ field, values: valuesAt(path, answer), expands: path.includes(each) }));
  const longest = Math.max(1, ...fields.filter(({ expands }) => expands).map(({ values }) => values.length));
  return Array.from({ length: Math.min(maxRows, longest) }, (_, row) =>
    Object.fromEntries(fields.map(({ field, values, expands }) => [field, values[expands ? row : 0]])),
  );
}

function valuesAt(path: string, { status, headers = {}, body }: MappedParts): unknown[] {
  const [first, ...rest] = stepsOf(path);
  if (first === '$status') return [status];
  if (first === '$headers') return [headers[String(rest[0]).toLowerCase()]];
  const steps = first === '$body' ? rest : [...(first === undefined ? [] : [first]), ...rest];
  return steps.reduce<unknown[]>((values, step) => values.flatMap((value) => stepInto(value, step)), [body]);
}

function stepInto(value: unknown, step: string | number): unknown[] {
  if (step === each) return Array.isArray(value) ? value : [];
  if (typeof step === 'number') return [Array.isArray(value) ? value[step] : undefined];
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
  return [isObject ? (value as Record<string, unknown>)[step] : undefined];
}
