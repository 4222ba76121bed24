import { type Document, isScalar, type LineCounter, type Node, visit } from 'yaml';
import { withoutTokens } from '../../core/text/secret-shapes.ts';
import { nearest } from '../../core/text/suggest.ts';
import type { LiteralSecret } from './secrets.ts';

/** Keeps a flow's secrets out of messages. */
interface Mask {
  /** `number` is 1-based. Undefined if the line might contain a secret: the message then shows only its position. */
  line(number: number): string | undefined;
  /** Replaces every secret by `***`. */
  message(text: string): string;
}

interface ParsedText {
  readonly text: string;
  readonly document: Document;
  readonly counter: LineCounter;
  /** True if the YAML has syntax errors. */
  readonly isBroken: boolean;
}

/** Hides lines with `auth`, `headers`, literal secrets or text that looks like a secret, and anchors, which an alias might repeat. */
export function createMask(parsed: ParsedText, literals: readonly LiteralSecret[]): Mask {
  const lines = parsed.text.split(/\r?\n/);
  const hidden = hiddenLines(parsed, literals);
  // In invalid YAML, a value might belong to any name above it. So all lines from the first possible secret on are hidden.
  const firstSecret = parsed.isBroken ? lines.findIndex((line) => mayBeginSecret.test(line)) : -1;
  const shownUntil = firstSecret < 0 ? lines.length : firstSecret;
  // A shorter secret may be the beginning of a longer one. If it came first, the rest of the longer one would be shown.
  const values = literals
    .map((secret) => secret.text)
    .filter((value) => value.length >= 4)
    .sort((a, b) => b.length - a.length);
  const message = (said: string) => withoutSecrets(values.reduce((left, value) => left.replaceAll(value, '***'), said));
  // Caches the result for each line, because a long line can have many problems.
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
  // The end offset of a YAML block is the start of the next line. That line must stay visible, so `end - 1` is the last hidden offset.
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

/** Includes all misspellings of `auth` and `headers` that the check of options recognizes. */
function isSecretOption(name: string): boolean {
  return nearest(name, ['auth', 'headers']) !== undefined;
}

const secretNames = 'authori[sz]ation|authentication|api[-_]?key|token|secret|passw\\w*|passphrase|credential|bearer';

const nameAndValue = new RegExp(`(?:${secretNames})["']?[\\s:=]+["']*(?!\\{\\{)[^\\s"']`, 'i');

/** True for a secret's name followed by a value, such as `token: x`, but not for a name alone. */
export function holdsSecret(text: string): boolean {
  return nameAndValue.test(text);
}

/** A secret might follow the name of a secret, a login in a URL, an anchor, an alias or a tag. */
const mayBeginSecret = new RegExp(`${secretNames}|auth|headers|key|://[^\\s/]*@|(?<!\\S)[&*!]\\S`, 'i');

/** Secrets after an authentication scheme, in JSON text, before the host in a URL, and in a URL's query. */
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
