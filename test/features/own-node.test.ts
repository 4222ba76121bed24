import { readFileSync } from 'node:fs';
import { transformSync } from 'rolldown/utils';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { compileMapping } from '../../src/core/answer/mapping.ts';
import { readBody } from '../../src/core/answer/response.ts';
import { defineNode, type NodeType } from '../../src/core/node.ts';
import { withFields } from '../../src/core/record.ts';
import { textTemplate } from '../../src/core/template/template.ts';
import { callPolicy, connectionOf, mappedColumns } from '../../src/nodes/call-policy.ts';
import { callEach, readMapped } from '../../src/nodes/calling.ts';
import { usesWithin } from '../../src/nodes/http/request-template.ts';
import { lookupOptions } from '../../src/places/lookup/lookup.ts';
import { refuseUnsuccessful, serverRequests } from '../../src/places/lookup/server-requests.ts';
import { runFlow } from '../helpers/run-flow.ts';

const parts = { z, defineNode, compileMapping, readBody, withFields, textTemplate, callPolicy, connectionOf, mappedColumns };
const known = { ...parts, callEach, readMapped, usesWithin, lookupOptions, refuseUnsuccessful, serverRequests };

/** Returns the node types from the examples in the documentation for authors of node types. */
function exampleTypes(): NodeType[] {
  const page = readFileSync(new URL('../../src/core/node.ts', import.meta.url), 'utf8');
  const lines = [...page.matchAll(/^ \* {3}(.*)$/gm)].map(([, line]) => line);
  const { code } = transformSync('examples.ts', lines.join('\n'));
  return new Function(...Object.keys(known), `${code}; return [greet, users];`)(...Object.values(known));
}

test('the examples in the documentation for authors of node types work as nodes', async () => {
  const yaml = 'nodes: [{ type: greet, text: "Hello {{name}}" }, { type: users, id: "{{id}}", retry: { max: 0 } }]';
  const http = ({ path }: { readonly path: string }) => (path === '/users/a%2Fb' ? { body: { name: 'Ada' } } : { status: 404 });
  const records = [
    { id: 'a/b', name: 'you' },
    { id: 'x', name: 'me' },
  ];
  const { rows, failures, credits } = await runFlow(yaml, records, { nodeTypes: exampleTypes(), http });
  expect(rows).toEqual([{ id: 'a/b', name: 'you', greeting: 'Hello you', user_name: 'Ada' }]);
  expect(failures).toMatchObject([{ record: 2, class: 'http', status: 404 }]);
  expect(credits).toBe(2);
});
