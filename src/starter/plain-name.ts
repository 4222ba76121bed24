/** Returns a name in a form that fits into one line. Puts it in quotes if it contains unusual characters. */
export function plainName(name: string): string {
  return /^[\p{L}\p{M}\p{N}_ ./-]+$/u.test(name) ? name : JSON.stringify(name);
}
