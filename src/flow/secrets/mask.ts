import { type Document, isScalar, type LineCounter, type Node, visit } from 'yaml';
import { withoutTokens } from '../../core/template/token-text.ts';
import { nearest } from '../../core/text/suggest.ts';
import type { LiteralSecret } from './secrets.ts';

/** Keeps a flow's secrets out of its problems. */
export interface Mask {
  /** A line of the flow (1-based). `undefined` if it may hold a secret: then the problem shows only its position. */
  line(number: number): string | undefined;
  /** A message with every secret replaced by `***`. */
  message(text: string): string;
}

/** A flow's text, parsed. */
interface ParsedText {
  readonly text: string;
  readonly document: Document;
  readonly counter: LineCounter;
  /** True if the YAML has errors. */
  readonly isBroken: boolean;
}

/**
 * Makes a flow's mask. Hidden are the lines of `auth` and `headers`, of literal secrets, of anchors (an alias may stand for one),
 * and every line that looks as if it held a secret.
 */
export function createMask(parsed: ParsedText, literals: readonly LiteralSecret[]): Mask {
  const lines = parsed.text.split(/\r?\n/);
  const hidden = hiddenLines(parsed, literals);
  // Broken YAML has no reliable structure: a value may belong to any name above it.
  const firstSecret = parsed.isBroken ? lines.findIndex((line) => mayBeginSecret.test(line)) : -1;
  const shownUntil = firstSecret < 0 ? lines.length : firstSecret;
  const values = literals.map((secret) => secret.text).filter((value) => value.length >= 4);
  const message = (said: string) => withoutSecrets(values.reduce((left, value) => left.replaceAll(value, '***'), said));
  // A long line may have many problems.
  const harmless = new Map<number, boolean>();
  return {
    message,
    line(number) {
      const line = lines[number - 1] ?? '';
      if (number > shownUntil || hidden.has(number)) return undefined;
      const isHarmless = harmless.get(number) ?? (!holdsSecret(line) && message(line) === line);
      harmless.set(number, isHarmless);
      return isHarmless ? line : undefined;
    },
  };
}

function hiddenLines({ document, counter }: ParsedText, literals: readonly LiteralSecret[]): ReadonlySet<number> {
  const hidden = new Set<number>();
  // The end of a block is the start of the next line.
  const hide = (start: number, end: number) => {
    const last = counter.linePos(Math.max(start, end - 1)).line;
    for (let { line } = counter.linePos(start); line <= last; line++) hidden.add(line);
  };
  for (const { range } of literals) hide(...range);
  visit(document, {
    Node(_key, node) {
      if ('anchor' in node && node.anchor && node.range) hide(node.range[0], node.range[2]);
    },
    Pair(_key, { key, value }) {
      if (!isScalar(key) || !key.range || !isSecretOption(String(key.value))) return undefined;
      hide(key.range[0], (value as Node | null)?.range?.[2] ?? key.range[1]);
      return visit.SKIP;
    },
  });
  return hidden;
}

/** True for `auth`, `headers` and every name for which the check suggests them. */
function isSecretOption(name: string): boolean {
  return nearest(name, ['auth', 'headers']) !== undefined;
}

const secretNames = 'authori[sz]ation|authentication|api[-_]?key|token|secret|passw\\w*|passphrase|credential|bearer';

const nameAndValue = new RegExp(`(?:${secretNames})["']?[\\s:=]+["']*(?!\\{\\{)[^\\s"']`, 'i');

/** True for a name with a value after it, such as `token: x`. In a key, a colon or a space is missing. */
export function holdsSecret(text: string): boolean {
  return nameAndValue.test(text);
}

/** A name of a secret, a login in a URL, an anchor, an alias or a tag. */
const mayBeginSecret = new RegExp(`${secretNames}|auth|headers|key|://[^\\s/]*@|(?<!\\S)[&*!]\\S`, 'i');

/** The parts of a message that are secrets: after a scheme, in JSON text, before a URL's host, and in a URL's query. */
const secretParts = [
  /(\b(?:bearer|basic)[ \t]+)(?!\{\{|--)[^\s"',{}]{6,}/gi,
  /(["'][\w-]*(?:authorization|api[-_]?key|token|secret|passw\w*)["']\s*:\s*["']?)(?!\{\{)[^\s"',}]+/gi,
  /(:\/\/)[^/\s"'@?#]+(?=@)/g,
  /([?&](?:[\w-]*(?:key|token|secret)|password)=)(?!\{\{)[^&#\s"']+/gi,
];

function withoutSecrets(text: string): string {
  const left = secretParts.reduce((said, part) => said.replace(part, '$1***'), text);
  return withoutTokens(left, () => '***');
}
