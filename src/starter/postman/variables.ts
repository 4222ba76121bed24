import { referable } from '../../core/template/template.ts';
import { percentDecoded } from '../../core/template/url.ts';
import { freeName } from '../../core/text/suggest.ts';
import { orUndefined } from '../../core/value/value.ts';
import { isSecretVariable } from '../../flow/secrets/secrets.ts';
import type { JsonPart } from '../json-parts.ts';
import type { KnownSecrets } from '../known-secrets.ts';
import type { FieldNames } from '../openapi/sample.ts';
import { schemeWords } from '../openapi/security.ts';
import { isSecretName } from './collection.ts';

interface Variable {
  readonly name: string;
  value: string | number | boolean;
}

/** Dynamic variables of Postman that an expression can compute. */
const computed: Readonly<Record<string, string>> = { $timestamp: 'int(now())', $isoTimestamp: 'string(now())' };

const reference = /\{\{\s*([^{}]+?)\s*\}\}/g;

const placeholder = 'https://api.example.com';

/** In a flow, a secret of the collection becomes a credential, a value a variable, and a variable without a value a field. */
export class Variables {
  readonly #written = new Map<string, { readonly value: unknown; readonly type: unknown }>();
  readonly #used = new Map<string, Variable>();
  readonly #fields = new Set<string>();
  readonly #expressions = new Map<string, string>();
  readonly notes: string[] = [];
  /** True if the request needs a field for a dynamic variable. */
  lacksFields = false;

  readonly secrets: KnownSecrets;
  readonly fields: FieldNames;
  /** False if the fields of the records are not known. */
  readonly hasRecords: boolean;

  constructor(written: readonly JsonPart[], { secrets, fields, hasRecords }: Pick<Variables, 'secrets' | 'fields' | 'hasRecords'>) {
    this.secrets = secrets;
    this.fields = fields;
    this.hasRecords = hasRecords;
    for (const { key, id, value, type, disabled } of written) {
      if (disabled !== true && (key ?? id) !== undefined) this.#written.set(String(key ?? id), { value: value ?? '', type });
    }
  }

  get vars(): JsonPart | undefined {
    if (this.#used.size === 0) return undefined;
    return Object.fromEntries([...this.#used.values()].map(({ name, value }) => [name, value]));
  }

  get computed(): Readonly<Record<string, { readonly cel: string }>> | undefined {
    if (this.#expressions.size === 0) return undefined;
    return Object.fromEntries([...this.#expressions].map(([field, cel]) => [field, { cel }]));
  }

  fieldNotes(): string[] {
    return [...this.#fields].map(
      (field) => `the collection has no value for {{${field}}}: the flow takes it from the field of each record`,
    );
  }

  /** Puts references of the flow in place of the variables. */
  inText(text: string, above: readonly string[] = []): string {
    return text.replace(reference, (_, name: string) => this.#replacement(name, above));
  }

  /** In JSON, a variable can also stand without quotes, as in `{"limit": {{limit}}}`. */
  inJson(text: string): string {
    let isString = false;
    return text.replace(/\\.|"|\{\{\s*([^{}"]+?)\s*\}\}/gs, (found, name: string | undefined) => {
      if (found === '"') isString = !isString;
      if (name === undefined) return found;
      if (isString) return JSON.stringify(this.#replacement(name, [])).slice(1, -1);
      return this.#asJson(name);
    });
  }

  #asJson(name: string): string {
    const { value } = this.#written.get(name) ?? {};
    const parsed = typeof value === 'string' ? orUndefined(() => JSON.parse(value) as unknown) : value;
    if (typeof parsed === 'object' && parsed !== null) return this.inJson(JSON.stringify(parsed));
    const text = JSON.stringify(this.#replacement(name, []));
    const used = this.#used.get(name);
    if (used && (typeof parsed === 'number' || typeof parsed === 'boolean')) used.value = parsed;
    return text;
  }

  /** `value` contains the values of the variables, because a host must be known. `hasPath` is true if a slash and a path follow. */
  inOrigin(text: string, hasPath: boolean): { readonly value: string; readonly reference: string } {
    for (const [, name = ''] of text.matchAll(reference)) {
      if (String(this.#written.get(name)?.value ?? '') === '' && !this.#isSecret(name)) this.#setPlaceholder(name, text);
    }
    const refer = this.inText(text);
    const isBare = !/^[a-z][a-z\d+.-]*:\/\//i.test(this.valuesIn(refer));
    const first = isBare ? [...this.#used.values()].find(({ name }) => refer.startsWith(`{{vars.${name}}}`)) : undefined;
    if (first) first.value = withScheme(String(first.value));
    const last = hasPath ? [...this.#used.values()].find(({ name }) => refer.endsWith(`{{vars.${name}}}`)) : undefined;
    if (last) last.value = String(last.value).replace(/\/+$/, '');
    const whole = isBare && !first ? withScheme(refer) : refer;
    const result = hasPath ? whole.replace(/\/+$/, '') : whole;
    return { value: this.valuesIn(result), reference: result };
  }

  valuesIn(text: string): string {
    return text.replace(/\{\{vars\.(\w+)\}\}/g, (found, name: string) => {
      const used = [...this.#used.values()].find((one) => one.name === name);
      return used ? String(used.value) : found;
    });
  }

  /** Returns the value of a text without any reference; undefined if a variable has no value or is a secret. */
  literal(text: string, above: readonly string[] = []): string | undefined {
    let isLiteral = true;
    const value = text.replace(reference, (found, name: string) => {
      const written = above.includes(name) || this.#isSecret(name) ? undefined : this.#written.get(name)?.value;
      const own = written === undefined || written === '' ? undefined : this.literal(String(written), [...above, name]);
      isLiteral &&= own !== undefined;
      return own ?? found;
    });
    return isLiteral ? value : undefined;
  }

  credentialOf(text: string): string | undefined {
    const name = /^\{\{\s*([^{}]+?)\s*\}\}$/.exec(text.trim())?.[1];
    return name === undefined ? undefined : schemeWords(name);
  }

  #setPlaceholder(name: string, origin: string): void {
    const value = origin.trimStart().startsWith('{{') ? placeholder : new URL(placeholder).host;
    this.#written.set(name, { value, type: undefined });
    this.notes.push(`the collection has no value for {{${name}}}: replace ${value} under vars in the flow`);
  }

  #replacement(name: string, above: readonly string[]): string {
    if (name.startsWith('$')) return this.#dynamic(name);
    if (this.#isSecret(name)) return this.secrets.standIn(schemeWords(name));
    const { value, type } = this.#written.get(name) ?? { value: '', type: undefined };
    if (value === '' || (typeof value === 'object' && value !== null) || above.includes(name)) return this.#field(name);
    const literal = this.literal(String(value), [name]);
    if (literal === undefined) return this.inText(String(value), [...above, name]);
    const used = this.#used.get(name) ?? {
      name: this.#freeVariable(name),
      value: typed(typeof value === 'string' ? literal : value, type),
    };
    this.#used.set(name, used);
    return `{{vars.${used.name}}}`;
  }

  #isSecret(name: string): boolean {
    const { value = '', type } = this.#written.get(name) ?? {};
    if (type === 'secret' || isSecretName(name, String(value) || 'x') || this.secrets.isVariable(name, String(value))) return true;
    const text = percentDecoded(String(value));
    return text !== '' && (isSecretVariable(name, text) || this.secrets.isIn(text));
  }

  #freeVariable(name: string): string {
    const used = [...this.#used.values()];
    return freeName(referable(name).replace(/^(?=\d)/, '_') || 'variable', (taken) => used.some((one) => one.name === taken));
  }

  #field(name: string): string {
    const field = this.fields.needed(name);
    this.#fields.add(field);
    return `{{${field}}}`;
  }

  #dynamic(name: string): string {
    const field = referable(name);
    const cel = computed[name];
    if (cel === undefined) {
      const note = `{{${name}}} of Postman has no counterpart: the flow takes it from a field "${field}" of each record`;
      if (!this.notes.includes(note)) this.notes.push(note);
      this.lacksFields = true;
      return `{{${field}}}`;
    }
    this.#expressions.set(field, cel);
    return `{{${field}}}`;
  }
}

function typed(value: unknown, type: unknown): string | number | boolean {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  const text = String(value);
  if (type === 'number' && Number.isFinite(Number(text)) && String(Number(text)) === text) return Number(text);
  return type === 'boolean' && /^(?:true|false)$/.test(text) ? text === 'true' : text;
}

/** Postman sends http if a URL has no scheme, but nearly all servers then redirect to https. */
function withScheme(host: string): string {
  return `${/^(?:localhost|127\.|\[::1\])/i.test(host) ? 'http' : 'https'}://${host.replace(/^\/\//, '')}`;
}
