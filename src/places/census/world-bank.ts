import { excerpt, readBody } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import type { BuildContext } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { isObject, type JsonObject, objectOf, textOf, type Value } from '../../core/value/value.ts';
import { refuseUnsuccessful } from '../lookup/server-requests.ts';
import type { LookupDocument } from '../lookup.ts';
import { countryTemplate } from '../places-options.ts';
import {
  type CensusOptions,
  type CensusProvider,
  type CensusQuestions,
  type CensusVariable,
  censusDocument,
  checkedText,
  variablesTemplate,
  yearForm,
} from './provider.ts';

const source = 'world-bank';

/** The provider for the World Bank's indicators. https://datahelpdesk.worldbank.org/knowledgebase/articles/889392 */
export const worldBank: CensusProvider = {
  source,
  server: 'https://api.worldbank.org',
  lacks: ['geoid', 'zcta', 'credential'],
  questions,
  check: checkWorldBankAnswer,
};

const codeForm = { pattern: /^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)+$/, expected: 'the code of an indicator, such as SP.POP.TOTL' };

function questions(options: CensusOptions, context: BuildContext): CensusQuestions | undefined {
  const { country, year: written, variables } = options;
  if (country === undefined) context.missing(['country'], 'world-bank needs a country, such as country: "{{country_code}}"');
  const countryOf = countryTemplate(country, context);
  const yearOf = written === undefined ? undefined : checkedText(written, yearForm, ['year'], context);
  const variablesOf = variablesTemplate(options, codeForm, context);
  const pathsOf: CensusQuestions['paths'] = (fields) => {
    const code = countryOf(fields);
    if (code === undefined) return [];
    const which = yearOf ? `date=${yearOf(fields)}` : 'mrnev=1';
    return variablesOf(fields).map((variable) => `/v2/country/${code}/indicator/${variable.code}?format=json&${which}`);
  };
  return {
    count: Object.keys(variables).length,
    paths: pathsOf,
    document: (responses, fields) => worldBankDocument(responses.map(dataPoint), variablesOf(fields)),
    noMatch: (fields) => `the World Bank has no value for ${countryOf(fields)}`,
  };
}

function checkWorldBankAnswer(response: HttpResponse): void {
  refuseUnsuccessful(response);
  dataPoint(response);
}

/** The newest value; undefined if there is none. Throws a Failure for a refusal, which has status 200, too. */
function dataPoint(response: HttpResponse): JsonObject | undefined {
  const { status } = response;
  const body = readBody(response, 'json', true) ?? null;
  if (!Array.isArray(body)) throw new Failure('answer', `expected a list, found ${excerpt(textOf(body))}`, { status });
  const [about, points] = body;
  if (isObject(about) && about.message !== undefined)
    throw new Failure('answer', `the server says: ${serverMessage(about.message)}`, { status });
  const [point] = Array.isArray(points) ? points.filter(isObject) : [];
  return point && point.value !== null && point.value !== undefined ? point : undefined;
}

/** Returns the messages in a refusal, such as `Invalid value: The provided parameter value is not valid`. */
function serverMessage(message: Value): string {
  const parts = (Array.isArray(message) ? message : [message]).map((part) => {
    if (!isObject(part)) return textOf(part);
    return [part.key, part.value].flatMap((text) => (text === undefined ? [] : textOf(text))).join(': ');
  });
  return excerpt(parts.join('; '));
}

/** `points` has the newest value of each variable. The document has a year only if all values belong to that year. */
function worldBankDocument(points: readonly (JsonObject | undefined)[], variables: readonly CensusVariable[]): LookupDocument {
  const values = objectOf(points.map((point, index) => [(variables[index] as CensusVariable).field, point?.value ?? null] as const));
  const found = points.filter((point) => point !== undefined);
  const [{ country, date } = {}] = found;
  const name = isObject(country) ? textOf(country.value ?? null) : null;
  const year = textOf(date ?? null);
  const isOneYear = /^\d{4}$/.test(year) && found.every((point) => textOf(point.date ?? null) === year);
  return censusDocument(found.length > 0, { name, year: isOneYear ? Number(year) : null, values }, source);
}
