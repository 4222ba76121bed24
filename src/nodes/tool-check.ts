import type { ToolProblem } from '../core/node.ts';
import { excerpt } from '../core/response.ts';
import { didYouMean } from '../core/suggest.ts';
import type { Tool, ToolSchema } from '../core/tools.ts';
import type { ArgumentsTemplate } from './tool-arguments.ts';

/** A node that calls a tool, as far as the server can judge it. */
export interface CheckedCall {
  readonly tool: string;
  readonly connection: string;
  readonly arguments: ArgumentsTemplate;
}

const shownTools = 20;

/** What is wrong with a call before any record is known: a tool that is not there, arguments that it does not know or needs. */
export function toolProblems(call: CheckedCall, tools: readonly Tool[]): ToolProblem[] {
  const tool = tools.find(({ name }) => name === call.tool);
  return tool ? argumentProblems(call, tool.inputSchema) : [{ at: ['tool'], message: noTool(call, tools) }];
}

function noTool({ tool, connection }: CheckedCall, tools: readonly Tool[]): string {
  const names = tools.map(({ name }) => excerpt(name, 100));
  const more = names.length > shownTools ? ` and ${names.length - shownTools} more` : '';
  const choices = names.length === 0 ? '; it has none' : `; it has ${names.slice(0, shownTools).join(', ')}${more}`;
  return `the server of "${connection}" has no tool "${tool}"${didYouMean(tool, names) || choices}`;
}

function argumentProblems({ tool, connection, arguments: written }: CheckedCall, schema: ToolSchema): ToolProblem[] {
  const known = Object.keys(schema.properties ?? {});
  const unknown = takesOthers(schema, known) ? [] : written.names.filter((name) => !known.includes(name));
  const missing = written.hasOtherNames ? [] : (schema.required ?? []).filter((name) => !written.names.includes(name));
  const meant = new Set(unknown.map((name) => didYouMean(name, missing)));
  const wayOut = `\nsee what it takes: automate connections tools ${connection} ${tool}`;
  return [
    ...unknown.map((name) => {
      const left = known.filter((one) => !written.names.includes(one));
      const choices =
        didYouMean(name, missing) || didYouMean(name, left) || (known.length === 0 ? '; it takes none' : `; it takes ${known.join(', ')}`);
      return { at: ['arguments', name], isName: true, message: `the tool "${tool}" has no argument "${name}"${choices}` };
    }),
    ...missing
      .filter((name) => !meant.has(`; did you mean "${name}"?`))
      .map((name) => ({ at: ['arguments'], message: `the argument "${excerpt(name, 100)}" of the tool "${tool}" is missing${wayOut}` })),
  ];
}

/** Where a schema names no arguments at all, any may be meant. */
function takesOthers({ additionalProperties, patternProperties }: ToolSchema, known: readonly string[]): boolean {
  if (additionalProperties === false) return false;
  return additionalProperties !== undefined || patternProperties !== undefined || known.length === 0;
}
