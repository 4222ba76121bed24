import { answerSurvey, answerWorldBank } from './census.mjs';
import { answerChat } from './chat.mjs';
import { answerGeocoder } from './geocoder.mjs';
import { answerNominatim, answerPhoton } from './openstreetmap.mjs';
import { answerOverpass } from './overpass.mjs';

/**
 * @typedef {object} Request
 * @property {string} method
 * @property {string} path with the query
 * @property {Readonly<Record<string, string | string[] | undefined>>} [headers] names in lower case
 * @property {string | undefined} [body]
 *
 * @typedef {object} Answer
 * @property {number} [status] 200 by default
 * @property {Readonly<Record<string, string>>} [headers]
 * @property {string | object} [body] an object is sent as JSON
 */

/** @type {readonly (readonly [RegExp, (request: Request) => Answer])[]} */
const servers = [
  [/^\/data\//, answerSurvey],
  [/^\/v2\/country\//, answerWorldBank],
  [/^\/geocoder\//, answerGeocoder],
  [/^\/(?:search|reverse\?(?:.*&)?format=)/, answerNominatim],
  [/^\/(?:api|reverse)\?/, answerPhoton],
  [/^\/api\/interpreter$/, answerOverpass],
  [/^\/v1\/chat\/completions$/, answerChat],
];

/**
 * Answers as the server does to which the path belongs.
 * @param {Request} request
 * @returns {Answer}
 */
export function answer(request) {
  const [, server] = servers.find(([path]) => path.test(request.path)) ?? [];
  return server ? server(request) : { status: 404, body: { error: `nothing is at ${request.path}` } };
}
