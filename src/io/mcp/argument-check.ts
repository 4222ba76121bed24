import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { Failure } from '../../core/failure.ts';
import { tidiedTool } from '../../core/tools/tool-schema.ts';
import type { Tool } from '../../core/tools/tools.ts';

/** Knows what a server's tools take. */
export interface ArgumentCheck {
  /** The tools are these from now on. */
  learn(tools: readonly Tool[]): void;
  /**
   * The arguments as the tool takes them: one that is null where only its absence will do is left out.
   * Throws a Failure (`request`) for a tool that is not there, and for arguments that it does not take: refused here, they cost nothing.
   */
  accepted(tool: string, args: Record<string, unknown>): Record<string, unknown>;
}

type Check = (value: unknown) => { readonly valid: boolean; readonly errorMessage?: string | undefined };

/** Makes a check that knows no tool yet. */
export function createArgumentCheck(connection: string): ArgumentCheck {
  const validator = new AjvJsonSchemaValidator();
  const checks = new Map<string, Check>();
  let known: readonly Tool[] = [];
  return {
    learn(tools) {
      checks.clear();
      known = tools;
    },
    accepted(name, args) {
      const tool = toolOf(name);
      const check = checks.get(name) ?? checkOf(tool);
      const { valid, errorMessage = '' } = check(args);
      if (valid) return args;
      const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
      if (check(given).valid) return given;
      throw refused(
        `the tool "${name}" does not take these arguments: ${withChoices(inWords(errorMessage), tool)}${hintFor(errorMessage)}`,
      );
    },
  };

  function toolOf(name: string): Tool {
    const found = known.find((candidate) => candidate.name === name);
    if (found) return found;
    throw refused(`the server of "${connection}" has no tool "${name}"; it has ${known.map((tool) => tool.name).join(', ') || 'none'}`);
  }

  /** A schema that nobody can read is left to the server. */
  function checkOf({ name, inputSchema }: Tool): Check {
    let check: Check = () => ({ valid: true });
    try {
      check = validator.getValidator(inputSchema as never);
    } catch {
      // The server reads its own schema.
    }
    checks.set(name, check);
    return check;
  }
}

function refused(message: string): Failure {
  return new Failure('request', message, { sent: false });
}

/** `data/a must be number`: the name of the argument is enough. */
function inWords(message: string): string {
  return message.replace(/\bdata\/?/g, '').replace(/^\s+|(?<=, )\s+/g, '');
}

/** What is allowed is told where it is a few values. */
function withChoices(message: string, tool: Tool): string {
  const { properties = {} } = tidiedTool(tool).inputSchema;
  return message.replace(/(\S+) must be equal to one of the allowed values/, (whole, name: string) => {
    const allowed = Object.hasOwn(properties, name) ? properties[name]?.enum : undefined;
    return allowed ? `${name} must be one of ${allowed.map((value) => JSON.stringify(value)).join(', ')}` : whole;
  });
}

function hintFor(message: string): string {
  if (!/must be (?:number|integer|boolean)/.test(message)) return '';
  return '\na CSV cell is a text; write the arguments as JSON text with {{field}} outside quotes, or convert it: cel: "double(field)"';
}
