const contentTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
};

/** Matches lines that advise a command. */
const advice = /--(?:skip|out|errors|resume|replace|force|out-format)\b|\bautomate [a-z]/;

/** An option of a command with the value after it: a number, a text in quotes, or the name of a delimiter. */
const option = /--([a-z][a-z-]*)(?: ('[^']*'|"[^"]*"|\d[\d.]*%?|tab\b))?/g;

/**
 * A message of a command in the words of the HTTP interface: `max_errors=10` for `--max-errors 10`, `charset=latin1` for
 * `--encoding latin1`. Leaves out the advice that a client cannot follow.
 */
export function httpWords(message: string): string {
  const [first = '', ...rest] = message.split('\n');
  return [first, ...rest.filter((line) => !advice.test(line))]
    .join('\n')
    .replace(/name the file \.csv\.gz .*--in-format csv\.gz/, 'send it with Content-Encoding: gzip')
    .replace(/(?:pass )?--in-format (\w+)/g, (_, kind: string) => `send it as ${contentTypes[kind] ?? kind}`)
    .replace(/(?:pass )?--encoding ([\w-]+)/g, 'charset=$1 in Content-Type')
    .replaceAll('--encoding', 'charset in Content-Type')
    .replace(option, (_, name: string, value?: string) => name.replaceAll('-', '_') + (value === undefined ? '' : `=${value}`));
}
