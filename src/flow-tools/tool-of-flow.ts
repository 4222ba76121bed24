import { allSteps, type Plan } from '../core/plan.ts';
import { fieldsTaken } from '../run/fields-taken.ts';
import { nodeTypes } from '../run/node-types.ts';
import type { OfferedTool } from './server/toolbox.ts';

/** Returns the description of a flow as an MCP tool, without the tool's name. */
export function toolOfFlow(plan: Plan): Omit<OfferedTool, 'name'> {
  const taken = fieldsTaken(plan);
  const input = taken.map(({ name, isOptional }) => [
    name,
    { description: `the field "${name}" of the record, a string or any other JSON value${isOptional ? '; null if it is left out' : ''}` },
  ]);
  const row = { type: 'object', properties: Object.fromEntries(plan.columns([]).map((name) => [name, {}])) };
  return {
    description: plan.description ?? descriptionOf(plan),
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(input),
      required: taken.filter(({ isOptional }) => !isOptional).map(({ name }) => name),
    },
    outputSchema: {
      type: 'object',
      properties: {
        rows: { type: 'array', description: 'the rows that the record becomes; empty if the flow drops the record', items: row },
      },
      required: ['rows'],
    },
  };
}

/** Describes for clients which nodes a flow has and which fields it adds. */
function descriptionOf(plan: Plan): string {
  const nodes = allSteps(plan.steps).map(({ id, type }) => `- ${id}: ${summaryOf(type)}`);
  const added = plan.columns([]);
  const adds = added.length > 0 ? [`It adds the fields ${added.join(', ')}.`] : [];
  return [`Runs the flow "${plan.name}" for one record:`, ...nodes, ...adds].join('\n');
}

function summaryOf(type: string): string {
  return nodeTypes.find(({ name }) => name === type)?.summary ?? type;
}
