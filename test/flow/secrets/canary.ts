import { flowProblems, planFor } from '../../helpers/flow-problems.ts';

/** A secret that must not appear in any message. */
export const secret = 's3cr3t-Canary';

/** Returns all problems and warnings that the check of a flow can print, as one string. */
export function said(yaml: string): string {
  const problems = flowProblems(yaml, { header: [] });
  const warnings = problems.length > 0 ? [] : planFor(yaml).warnings();
  return JSON.stringify([problems, warnings]);
}

/** Strings that look like randomly generated secrets. */
export const random = {
  hex: '9f86d081884c7d659a2feaa0c55ad015',
  mixed: 'aB3dE5gH7jK9mN1pQ3sT5vW7',
  uuid: '550e8400-e29b-41d4-a716-446655440000',
};

export const connection = (lines: string) => `connections:
  crm:
    type: http
    base_url: https://crm.example.com
${lines}
nodes:
  - { type: http, connection: crm, url: /x, map: { a: "" } }
`;

/** Returns the problems of an http node that calls GitHub and contains these lines. */
export function ofNode(line: string, more = ''): string[] {
  const url = line.startsWith('url') ? '' : '    url: https://api.github.com/x\n';
  return flowProblems(`nodes:\n  - type: http\n    method: POST\n    ${line}\n${url}${more}`).map(({ message }) => message);
}
