import * as z from 'zod';
import { credentialName, headerName, isClientHeader } from '../options/names.ts';
import { describedAs } from '../value/dictionary.ts';
import { credentialFor, defineAuthType, inHeader, inQuery } from './auth-type.ts';

const options = z.strictObject({
  type: z.literal('api_key'),
  credential: credentialName,
  header: headerName
    .refine((header) => !isClientHeader(header), {
      error: ({ input }) => `the header "${input}" is set by automate; use a different header for the key`,
    })
    .optional()
    .describe('the header that carries the key, such as X-API-Key'),
  query: z
    .string()
    .min(1, 'expected the name of a query parameter')
    .optional()
    .describe('instead of header: the query parameter that carries the key'),
});

export const apiKey = defineAuthType({
  type: 'api_key',
  label: 'API key',
  options: describedAs(
    options.refine(({ header, query }) => (header === undefined) !== (query === undefined), {
      error: 'expected either header or query, whichever carries the key',
    }),
    z.union([options.omit({ query: true }).required({ header: true }), options.omit({ header: true }).required({ query: true })]),
  ),
  parts: {
    header: { question: 'Header that carries the key', example: 'X-API-Key', suggested: () => 'X-API-Key' },
    query: { replaces: 'header', example: 'key' },
    credential: {
      question: 'Name of the credential that holds the key',
      isCredential: true,
      example: 'crm-key',
      suggested: (connection) => `${connection}-token`,
    },
  },
  credentials: ({ credential }, origin) => [credentialFor(credential, origin)],
  sign: ({ header, query = '' }, key) => (header === undefined ? inQuery(query, key) : inHeader(header, key)),
  curl: ({ header, query = '' }, variable) =>
    header === undefined
      ? { in: 'query', text: [`${encodeURIComponent(query)}=`, { variable }] }
      : { in: 'header', text: [`${header}: `, { variable }] },
});
