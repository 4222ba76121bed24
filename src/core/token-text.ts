import { secretShapes } from './secret-shapes.ts';

/** The tokens of the table, each with all that belongs to it. */
const knownTokens = new RegExp(`\\b(?:${tokenPatterns().join('|')})[\\w.-]*`, 'g');

function tokenPatterns(): string[] {
  return secretShapes.flatMap((shape) => ('begins' in shape ? [shape.begins.replaceAll('.', '\\.') + (shape.rest ?? '[\\w.-]{8,}')] : []));
}

/** Whether a text holds what can only be a secret. */
export function holdsToken(text: string): boolean {
  return text.search(knownTokens) >= 0;
}

/** The first such secret of a text. */
export function tokenIn(text: string): string | undefined {
  return text.match(knownTokens)?.[0];
}

/** The text with every such secret replaced. */
export function withoutTokens(text: string, hide: (token: string) => string): string {
  return text.replace(knownTokens, hide);
}

/** Whether a text is long and mixed as only generated secrets are. */
export function isRandomText(text: string): boolean {
  if (/^[0-9a-f]{32,}$/i.test(text)) return true;
  return /^[\w.~+/=-]{24,}$/.test(text) && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(text)) && digitChanges(text) > 3;
}

/** How often digits and other characters take turns: names have their digits together. */
function digitChanges(text: string): number {
  return text.match(/\d(?=\D)|\D(?=\d)/g)?.length ?? 0;
}
