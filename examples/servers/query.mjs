/**
 * The parameters of a query, and what is wrong with it: a parameter that lacks, comes twice or is not known.
 * @param {string} path
 * @param {readonly string[]} required
 * @param {readonly string[]} [optional]
 * @param {readonly string[]} [repeated] parameters that may come several times, or not at all
 */
export function readQuery(path, required, optional = [], repeated = []) {
  const { searchParams: query } = new URL(path, 'http://127.0.0.1');
  const names = [...query.keys()];
  const isExpected = (name, index) =>
    repeated.includes(name) || (names.indexOf(name) === index && (required.includes(name) || optional.includes(name)));
  const errors = [
    ...required.filter((name) => !query.get(name)).map((name) => `${name} cannot be empty`),
    ...names.filter((name, index) => !isExpected(name, index)).map((name) => `${name} is not expected`),
  ];
  return { query, errors };
}
