import * as z from 'zod';
import { defineNode, type Node } from '../core/node.ts';
import { condition } from '../core/options/expressions.ts';
import { conditionReads, isMet } from './inner.ts';

export const filter = defineNode({
  name: 'filter',
  summary: 'Filter: drops the records for which a condition is not true',
  example: `- type: filter
  where: has(email) && country == "DE"`,
  options: z.strictObject({
    where: condition.describe('keep the record if this condition is true; otherwise it is dropped and counted as filtered, not as failed'),
  }),
  build({ where }, context) {
    const rowsAtOnce: Node['rowsAtOnce'] = (fields, clock) => (isMet('where', where, fields, clock) ? [fields] : []);
    return {
      reads: conditionReads(context, { where }),
      columns: (before) => [...before],
      filters: true,
      rowsAtOnce,
      run: async (fields, { clock }) => rowsAtOnce(fields, clock),
    };
  },
});
