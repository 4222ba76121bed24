import { type Document, isMap, isScalar, isSeq, type Range, visit } from 'yaml';
import { templateParts } from '../core/template.ts';

/** A literal secret in a flow: where it stands, and what it looks like. */
export interface LiteralSecret {
  readonly range: readonly [number, number];
  readonly found: string;
}

const secretName =
  /^(?:(?:proxy-)?authorization|(?:x-)?(?:api|auth|access|secret)[-_]?(?:key|token)|x-token|apikey|client[-_]secret|secret|password|passwd)$/i;
const secretParameter =
  /[?&](?:api[-_]?key|apikey|(?:access|auth)[-_]token|client[-_]secret|secret|password|token)=(?!\{\{|&|#|$)([^&#\s]+)/i;
const tokenText = /\b(?:sk_(?:live|test)_|gh[pousr]_|github_pat_|xox[abprs]-|AKIA|AIza|glpat-|eyJ[\w-]{10,}\.)[\w-]{8,}/;
const secretMember = /"(?:api[-_]?key|apikey|access[-_]token|client[-_]secret|authorization|secret)"\s*:\s*"(?!\{\{)([^"]+)"/i;

/** Literal secrets in the headers, URLs and bodies of a flow. Such a value would stand in a file that people share. */
export function literalSecrets(document: Document): LiteralSecret[] {
  const found: LiteralSecret[] = [];
  visit(document, {
    Pair(_key, pair, ancestors) {
      const name = isScalar(pair.key) ? String(pair.key.value) : '';
      if (name === 'auth') return visit.SKIP;
      if (!isScalar(pair.value) || typeof pair.value.value !== 'string' || !pair.value.range) return undefined;
      const text = pair.value.value;
      const what = literalSecret(name, text, inside(ancestors, 'headers'), inside(ancestors, 'body'));
      if (what !== undefined) found.push({ range: [pair.value.range[0], pair.value.range[1]], found: what });
      return undefined;
    },
  });
  return found;
}

function inside(ancestors: readonly unknown[], name: string): boolean {
  return ancestors.some((ancestor) => {
    const { key } = ancestor as { key?: unknown };
    return isScalar(key) && key.value === name;
  });
}

function literalSecret(name: string, text: string, inHeaders: boolean, inBody: boolean): string | undefined {
  if ((inHeaders || inBody) && secretName.test(name) && hasLiteral(text)) {
    return inHeaders ? `the header "${name}"` : `"${name}" in the body`;
  }
  if (name === 'url' || name === 'base_url') {
    if (secretParameter.test(text)) return `the query parameter "${/[?&]([^=]+)=/.exec(secretParameter.exec(text)?.[0] ?? '')?.[1]}"`;
    if (/^[a-z]+:\/\/[^/?#]*:[^/?#@]+@/i.test(text)) return 'the user name and password in the URL';
  }
  if (name === 'body' && secretMember.test(text)) return `the body's member ${/"[^"]+"/.exec(secretMember.exec(text)?.[0] ?? '')?.[0]}`;
  if (tokenText.test(text) && (inHeaders || inBody || name === 'url' || name === 'body')) return `the value of "${name}"`;
  return undefined;
}

/** Whether something is left of a value without its references and the scheme's word. */
function hasLiteral(text: string): boolean {
  const literal = templateParts(text)
    .filter((part) => typeof part === 'string')
    .join('');
  return /[A-Za-z0-9]/.test(literal.replace(/\b(?:bearer|basic|token|digest|apikey)\b/gi, ''));
}

/** The places of everything in a flow that must never be printed: values under `auth`, and literal secrets. */
export function secretRanges(document: Document): [number, number][] {
  const ranges = literalSecrets(document).map(({ range }): [number, number] => [...range]);
  visit(document, {
    Pair(_key, pair) {
      if (!isScalar(pair.key) || pair.key.value !== 'auth') return undefined;
      ranges.push(...scalarRanges(pair.value));
      return visit.SKIP;
    },
  });
  return ranges;
}

function scalarRanges(node: unknown): [number, number][] {
  if (isScalar(node)) return node.range && node.value !== null ? [rangeOf(node.range)] : [];
  if (isSeq(node)) return node.items.flatMap(scalarRanges);
  return isMap(node) ? node.items.flatMap((pair) => scalarRanges(pair.value)) : [];
}

function rangeOf(range: Range): [number, number] {
  return [range[0], range[1]];
}

/** The text with every secret as `***`, each as long as what it hides, so that positions stay. */
export function maskedText(text: string, ranges: readonly (readonly [number, number])[]): string {
  let masked = text;
  for (const [start, end] of ranges) masked = masked.slice(0, start) + blank(text.slice(start, end)) + masked.slice(end);
  return masked.replace(guessedSecret, (_all, name: string, value: string) => name + blank(value));
}

/** For a file whose YAML is too broken to tell: whatever follows a telling name. */
const guessedSecret =
  /((?:authorization|api[-_]?key|access[-_]?token|client[-_]?secret|password|passwd|secret|token)["']?\s*[:=]\s*)((?!\{\{|\*|NAME)[^\s,}{][^\n,}]*)/gi;

function blank(text: string): string {
  return text.replace(/[^\n]/g, (character, index) => (index < 3 ? '*' : character === '\r' ? character : ' '));
}
