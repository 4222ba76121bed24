import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar, visit } from 'yaml';
import type { CodedMessage } from '../core/error-code.ts';
import { AutomateError } from '../core/failure.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { ExactNumber, jsonNumber } from '../core/value/value.ts';
import { isSecretVariable } from './secrets/secrets.ts';

export type VariableValue = string | number | boolean | ExactNumber;

/** The values that a run sets for a flow's variables. */
export interface VariableChoice {
  /** By variable. They override the values in the file. */
  readonly given?: ReadonlyMap<string, string>;
  /** Called only if a variable has separate values for environments. */
  env?(): string;
  /** Only open variables may be set: those that a flow on a server lets its callers set. */
  readonly onlyOpen?: boolean;
  /** Called for each variable that was set although the flow does not declare it. If undefined, such a variable is an error. */
  readonly other?: (name: string) => void;
  /** True if the flow is only checked. An open variable without a value then gets a placeholder value. */
  readonly takesStandIns?: boolean;
}

export interface PlacedIssue extends CodedMessage {
  /** The 0-based position in the text. */
  readonly offset: number;
  readonly width: number;
}

export interface FlowVariables {
  /** An invalid or missing value has been reported, and is undefined here. */
  readonly values: ReadonlyMap<string, VariableValue | undefined>;
  /** The variables that a caller may set. */
  readonly open: ReadonlySet<string>;
  /** The open variables that have a placeholder value. */
  readonly standIns: ReadonlySet<string>;
  /** The YAML keys that contain the variables' names. */
  readonly names: ReadonlyMap<string, Scalar>;
  /** Start and end of `vars`. Undefined without variables, or if an alias in a different place might use one of the values. */
  readonly range: readonly [number, number] | undefined;
  readonly issues: readonly PlacedIssue[];
}

/** The schema reports values of an invalid type later. Throws an AutomateError (`usage`) if a set value is not allowed. */
export function variablesOf(document: Document, choice: VariableChoice): FlowVariables {
  const pair = pairOfVariables(document);
  const written = writtenIn(document, pair);
  const issues: PlacedIssue[] = [];
  const open = openNames(document, written, issues);
  const values = new Map<string, VariableValue | undefined>();
  const standIns = new Set<string>();
  checkGiven(choice, written, open);
  for (const [name, variable] of written) {
    const given = choice.given?.get(name);
    const chosen = chosenIn(variable, choice);
    const found = given === undefined ? scalarValue(chosen) : givenValue(name, given, kindsIn(variable));
    const isMissing = found === undefined && isNothing(chosen);
    if (isMissing && choice.takesStandIns && open.has(name)) standIns.add(name);
    else if (isMissing) issues.push({ ...placeOf(variable.key), ...missing(name, variable, open.has(name), choice) });
    const wrong = typeof found === 'string' && given === undefined ? wrongText(found) : undefined;
    if (wrong !== undefined) issues.push({ ...placeOf(chosen as Node), message: wrong });
    values.set(name, wrong === undefined ? found : undefined);
  }
  const names = new Map([...written].map(([name, { key }]) => [name, key]));
  return { values, open, standIns, names, range: rangeOfVariables(pair), issues };
}

/** Calls `other` for each undeclared variable. Throws an AutomateError (`usage`) if a value is not allowed. */
function checkGiven(choice: VariableChoice, written: ReadonlyMap<string, WrittenVariable>, open: ReadonlySet<string>): void {
  const { given = [], other, onlyOpen = false } = choice;
  for (const [name, text] of given) {
    if (other && !written.has(name)) other(name);
    else refuseGiven(name, text, { written, open, onlyOpen });
  }
}

function pairOfVariables({ contents }: Document) {
  return isMap(contents) ? contents.items.find(({ key }) => isScalar(key) && key.value === 'vars') : undefined;
}

function isNothing(node: ReturnType<typeof chosenIn>): boolean {
  return !node || (isScalar(node) && node.value === null);
}

interface WrittenVariable {
  readonly key: Scalar;
  /** By environment; the key is undefined for a value that applies to all environments. */
  readonly values: ReadonlyMap<string | undefined, Node | null>;
}

function writtenIn(document: Document, pair: Pair | undefined): Map<string, WrittenVariable> {
  const plain = (node: unknown) => (isAlias(node) ? (node.resolve(document) ?? null) : node) as Node | null;
  const membersOf = (node: unknown) => (isMap(node) ? (node.items as Pair<Scalar>[]) : []);
  return new Map(
    membersOf(plain(pair?.value)).map(({ key, value }) => {
      const found = plain(value);
      const byEnv = membersOf(found).map((one) => [String(one.key.value), plain(one.value)] as const);
      return [String(key.value), { key, values: new Map(isMap(found) ? byEnv : [[undefined, found]]) }];
    }),
  );
}

function openNames(document: Document, written: ReadonlyMap<string, unknown>, issues: PlacedIssue[]): Set<string> {
  const list = isMap(document.contents) ? document.contents.get('open_vars', true) : undefined;
  const entries = isSeq(list) ? list.items.filter((item) => isScalar(item)) : [];
  for (const entry of entries)
    if (!written.has(String(entry.value)))
      issues.push({ ...placeOf(entry), message: unknownVariable(String(entry.value), written.keys()) });
  return new Set(entries.map(({ value }) => String(value)));
}

export function unknownVariable(name: string, names: Iterable<string>): string {
  const all = [...names];
  const wayOut = /^[A-Za-z_]\w*$/.test(name) ? `\ndeclare it at the top of the flow: vars: { ${name}: VALUE }` : '';
  const choices = didYouMean(name, all) || (all.length > 0 ? `; available: ${all.join(', ')}` : wayOut);
  return `the flow has no variable "${name}"${choices}`;
}

function missing(name: string, { values }: WrittenVariable, isOpen: boolean, { env }: VariableChoice): CodedMessage {
  const where = !values.has(undefined) ? ` for the environment ${env?.() ?? 'default'}, and no default` : '';
  return { message: `the variable "${name}" has no value${where}`, code: 'variable-missing', details: { variable: name, isOpen } };
}

function chosenIn({ values }: WrittenVariable, { env }: VariableChoice): Node | null | undefined {
  if (values.has(undefined)) return values.get(undefined);
  const own = env?.() ?? 'default';
  return values.get(values.has(own) ? own : 'default');
}

/** Keeps all digits of a number. Undefined for null, and for anything that cannot be a variable's value. */
function scalarValue(node: Node | null | undefined): VariableValue | undefined {
  if (!isScalar(node)) return undefined;
  const { value, source } = node;
  if (typeof value === 'number') return numberOf(source ?? String(value)) ?? value;
  return typeof value === 'string' || typeof value === 'boolean' ? value : undefined;
}

function numberOf(text: string): number | ExactNumber | undefined {
  if (!jsonNumber.test(text)) return undefined;
  return String(Number(text)) === text ? Number(text) : new ExactNumber(text);
}

function kindsIn({ values }: WrittenVariable): Set<string> {
  return new Set([...values.values()].flatMap((value) => (isScalar(value) && value.value !== null ? [typeof value.value] : [])));
}

/** Converts a set value to the type of the values in the file, or to a string if there are none. */
function givenValue(name: string, text: string, kinds: ReadonlySet<string>): VariableValue {
  const [kind = 'string'] = kinds.size === 1 ? kinds : [];
  if (kind === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true';
  const number = kind === 'number' ? numberOf(text) : undefined;
  if (number !== undefined) return number;
  if (kind === 'string') return text;
  const expected = kind === 'number' ? 'a number' : 'true or false';
  throw refusedVariable(name, `expected ${expected} for "${name}", as in the flow, found ${JSON.stringify(text)}`);
}

interface Known {
  readonly written: ReadonlyMap<string, unknown>;
  readonly open: ReadonlySet<string>;
  readonly onlyOpen: boolean;
}

function refuseGiven(name: string, text: string, { written, open, onlyOpen }: Known): void {
  if (onlyOpen && !open.has(name)) {
    const choices = open.size === 0 ? 'callers cannot set any variable of this flow' : `callers may set ${[...open].join(', ')}`;
    throw refusedVariable(name, `"${name}" is not a variable that a caller may set; ${choices}`);
  }
  if (!written.has(name)) throw refusedVariable(name, unknownVariable(name, written.keys()));
  const wrong = isSecretVariable(name, text)
    ? `the value of "${name}" looks like a secret, which a variable must not contain\nstore it as a credential: automate credentials set NAME`
    : wrongText(text);
  if (wrong !== undefined) throw refusedVariable(name, wrong);
}

function refusedVariable(name: string, message: string): AutomateError {
  return new AutomateError('usage', message, { code: 'invalid-option', details: { option: 'var', entry: name } });
}

function wrongText(text: string): string | undefined {
  if (text.includes('{{')) return 'the value of a variable is fixed for the run: expected no references in it, found {{';
  return text.isWellFormed() ? undefined : 'the value contains a broken character (a lone surrogate)';
}

export function placeOf({ range }: Node): Pick<PlacedIssue, 'offset' | 'width'> {
  const [offset = 0, end = 1] = range ?? [];
  return { offset, width: end - offset };
}

/** Start and end of `vars`. Undefined if a value contains an anchor, because an alias in a different place might use the value. */
function rangeOfVariables(pair: Pair | undefined): [number, number] | undefined {
  let hasAnchor = false;
  visit(pair?.value as Node | null, {
    Node(_key, node) {
      hasAnchor ||= 'anchor' in node && node.anchor !== undefined;
    },
  });
  if (hasAnchor) return undefined;
  const [start] = (pair?.key as Node | undefined)?.range ?? [];
  const end = (pair?.value as Node | undefined | null)?.range?.[2];
  return start === undefined || end === undefined ? undefined : [start, end];
}
