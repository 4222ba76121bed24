import type { SentRequest } from '../core/action.ts';
import { parseJson } from '../core/value/json.ts';
import { ExactNumber, isMapping, jsonOf, objectOf, orUndefined, textOf, type Value } from '../core/value/value.ts';
import { patternOf } from './test-file.ts';
import { requestKind, type TestAnswer } from './test-schema.ts';

export interface AskedRequest {
  /** The strings that a test can write in `request` to name this request. The most specific comes first. */
  readonly names: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text. It is undefined for a request without a body, and for a tool call. */
  readonly body?: string;
  readonly arguments?: Value;
  readonly unsigned: SentRequest;
  /** True if the request is repeated after a new login. A test needs no answer of its own for it. */
  readonly isAgain?: boolean;
}

export interface AnswerSource {
  takeAnswer(request: AskedRequest): TestAnswer | undefined;
}

/** The answers that a test lists. Each is used for only one request. Several answers for the same request are used in order. */
export class GivenAnswers implements AnswerSource {
  readonly #left: { readonly answer: TestAnswer; readonly name: string }[];
  readonly #used = new Set<string>();
  readonly #problems: string[] = [];

  constructor(answers: readonly TestAnswer[]) {
    this.#left = answers.map((answer) => ({ answer, name: requestName(answer.request) }));
  }

  takeAnswer(asked: AskedRequest): TestAnswer | undefined {
    const index = this.#left.findIndex(({ answer, name }) => asked.names.includes(name) && hasArguments(answer, asked));
    if (index < 0) {
      if (!asked.isAgain) this.#problems.push(unansweredText(asked));
      return undefined;
    }
    const { answer, name } = this.#left.splice(index, 1)[0] as { readonly answer: TestAnswer; readonly name: string };
    this.#used.add(name);
    this.#problems.push(...differencesIn(answer, asked));
    return answer;
  }

  /** Returns the problems found so far: requests without an answer, requests that differ from what was expected, and unused answers. */
  problems(): string[] {
    const unused = this.#left.map(({ answer: { request, arguments: given }, name }) => {
      const reason = this.#used.has(name) && !given ? 'the flow did not send this request again' : 'the flow sent no such request';
      return `the answer to ${request}${given ? ` with ${jsonOf(given as Value)}` : ''} was not used: ${reason}`;
    });
    return [...this.#problems, ...unused];
  }
}

/** Normalizes the URL, so that requests can be compared. */
export function requestName(request: string): string {
  if (requestKind(request) !== 'http') return request;
  const [method, url = ''] = request.split(' ');
  return `${method} ${URL.canParse(url) ? new URL(url).href : url}`;
}

function hasArguments({ arguments: expected }: TestAnswer, { arguments: found }: AskedRequest): boolean {
  return expected === undefined || compareParts(expected, found, '').length === 0;
}

function differencesIn({ request, sent }: TestAnswer, { headers, body }: AskedRequest): string[] {
  if (!sent) return [];
  const wrong = [
    ...headerDifferences(sent.headers ?? {}, headers),
    ...(sent.body === undefined ? [] : compareParts(sent.body, comparedBody(sent.body, body, headers), 'the body')),
  ];
  return wrong.map((difference) => `${request} sent ${difference}`);
}

function headerDifferences(expected: Readonly<Record<string, string>>, found: AskedRequest['headers']): string[] {
  return Object.entries(expected).flatMap(([name, value]) => compareWhole(value, found[name.toLowerCase()], `the header ${name}`));
}

/** A string if a string is expected, an object of fields for a web form, and the parsed JSON otherwise. */
function comparedBody(expected: unknown, found: string | undefined, headers: AskedRequest['headers']): Value | undefined {
  if (found === undefined || typeof expected === 'string') return found;
  if (headers['content-type']?.startsWith('application/x-www-form-urlencoded')) return formFields(new URLSearchParams(found));
  return orUndefined(() => parseJson(found)) ?? found;
}

/** A field that occurs several times becomes a list of values. */
function formFields(form: URLSearchParams): Value {
  const names = [...new Set(form.keys())];
  return objectOf(
    names.map((name) => {
      const values = form.getAll(name);
      return [name, values.length === 1 ? (values[0] as string) : values] as const;
    }),
  );
}

/** Describes all parts of a request for which the test has no answer, so that the user can write an answer for it. */
function unansweredText({ names, headers, body, arguments: given }: AskedRequest): string {
  const shown = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const parts = [...(body === undefined ? [] : [body]), ...(given === undefined ? [] : [`arguments: ${jsonOf(given)}`])];
  return ['no answer is left for this request:', ...[names.join(', or '), ...shown, ...parts].map((line) => `  ${line}`)].join('\n');
}

/** Returns a line for each difference. `place` is the value's path inside the row or request; empty at the top level. */
type Compare = (expected: unknown, found: Value | undefined, place: string) => string[];

/** Members that are found but not expected count as differences. */
export const compareWhole: Compare = (expected, found, place) => {
  const isSame = patternOf(expected) ? isAsExpected(expected, found) : isEqual(expected, found);
  return isSame ? [] : [differenceText(expected, found, place)];
};

/** Ignores members of the found object that are not expected. */
const compareParts: Compare = (expected, found, place) => {
  if (Array.isArray(expected) && Array.isArray(found) && expected.length === found.length)
    return expected.flatMap((member, index) => compareParts(member, found[index], `${place}[${index}]`));
  if (!isObjectOf(expected) || !isObjectOf(found)) return compareWhole(expected, found, place);
  return Object.entries(expected).flatMap(([name, member]) =>
    compareParts(member, Object.hasOwn(found, name) ? found[name] : undefined, place === '' ? name : `${place}.${name}`),
  );
};

/** `isExact` is true if the row must have no other fields than the expected ones. */
export function compareRow(expected: Readonly<Record<string, unknown>>, found: ReadonlyMap<string, Value>, isExact: boolean): string[] {
  const named = Object.entries(expected).flatMap(([name, value]) => compareWhole(value, found.get(name), name));
  const others = isExact ? [...found.keys()].filter((name) => !Object.hasOwn(expected, name)) : [];
  return [...named, ...others.map((name) => `${name}: expected no such field in the row, found ${shownValue(found.get(name))}`)];
}

/** An expected string between slashes is a regular expression. @internal */
export function isAsExpected(expected: unknown, found: Value | undefined): boolean {
  const pattern = patternOf(expected);
  return pattern ? found !== undefined && pattern.test(textOf(found)) : isEqual(expected, found);
}

export function shownValue(value: unknown): string {
  return value === undefined ? 'nothing' : jsonOf(value as Value);
}

function differenceText(expected: unknown, found: Value | undefined, place: string): string {
  const pattern = patternOf(expected);
  const wanted = pattern ? `text that matches ${expected as string}` : shownValue(expected);
  return `${place === '' ? '' : `${place}: `}expected ${wanted}, found ${shownValue(found)}`;
}

/** True if two values are equal. Expected strings inside lists and objects can be regular expressions, too. */
function isEqual(expected: unknown, found: Value | undefined): boolean {
  if (Array.isArray(expected))
    return Array.isArray(found) && expected.length === found.length && expected.every((one, index) => isAsExpected(one, found[index]));
  if (isObjectOf(expected)) {
    if (!isObjectOf(found)) return false;
    const names = Object.keys(expected);
    if (names.length !== Object.keys(found).length) return false;
    return names.every((name) => Object.hasOwn(found, name) && isAsExpected(expected[name], found[name]));
  }
  return isNumber(expected) && isNumber(found) ? isSameNumber(expected, found) : expected === found;
}

function isObjectOf(value: unknown): value is Record<string, Value> {
  return isMapping(value) && !(value instanceof ExactNumber);
}

function isNumber(value: unknown): value is number | ExactNumber {
  return typeof value === 'number' || value instanceof ExactNumber;
}

/** Numbers written differently, such as 1 and 1.0, are equal. If both have more digits than a double can hold, compares all digits. */
function isSameNumber(one: number | ExactNumber, other: number | ExactNumber): boolean {
  if (jsonOf(one) === jsonOf(other)) return true;
  return (typeof one === 'number' || typeof other === 'number') && Number(jsonOf(one)) === Number(jsonOf(other));
}
