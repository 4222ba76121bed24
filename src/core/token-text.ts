/** How tokens of well-known services begin, and JSON Web Tokens. */
const knownTokens =
  /\b(?:sk_(?:live|test)_|sk-|rk_(?:live|test)_|gh[pousr]_|github_pat_|xox[abprs]-|AKIA|AIza|glpat-|SG\.|eyJ[\w-]{10,}\.)[\w.-]{8,}/g;

/** Whether a text holds what can only be a secret. */
export function holdsToken(text: string): boolean {
  return text.search(knownTokens) >= 0;
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
