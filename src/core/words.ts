/**
 * The words of a command line, as a POSIX shell would split them: quotes and backslashes count, nothing else does.
 * Throws an Error for a quote without its end, and for no word at all.
 */
export function wordsOf(text: string): [string, ...string[]] {
  const words: string[] = [];
  let rest = text.trimStart();
  while (rest !== '') {
    const found = word.exec(rest)?.[0] ?? '';
    if (found === '') throw new Error(`a quote in the command has no end: ${rest.charAt(0)}`);
    words.push(found.replace(piece, unquoted));
    rest = rest.slice(found.length);
    if (rest !== '' && !/^\s/.test(rest)) throw new Error(`a quote in the command has no end: ${rest.charAt(0)}`);
    rest = rest.trimStart();
  }
  const [program, ...more] = words;
  if (program === undefined || program === '') throw new Error('expected a command such as npx -y @scope/server, found nothing');
  return [program, ...more];
}

const word = /^(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])+/s;

const piece = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs;

function unquoted(_: string, single?: string, double?: string, escaped?: string): string {
  return single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? '';
}
