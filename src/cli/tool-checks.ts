import { queryServer, type ServerOfConnection } from '../connections/tool-server.ts';
import { cleaned } from '../core/answer/response.ts';
import { Failure, FlowError, type Problem } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import { serverCredentials } from '../core/tools.ts';
import { messageWithAdvice } from './advice.ts';
import type { Terminal } from './terminal.ts';

/** Throws a FlowError for wrong tools or arguments. Only warns if a server cannot be reached, because that is not a fault of the flow. */
export async function checkTools(
  plan: Plan,
  flow: string,
  options: ServerOfConnection & { readonly textCells: boolean },
  terminal: Terminal,
): Promise<void> {
  const problems: Problem[] = [];
  for (const name of new Set(plan.tools.map(({ connection }) => connection.name))) {
    const uses = plan.tools.filter(({ connection }) => connection.name === name);
    const [first] = uses;
    if (!first) continue;
    const command = serverCredentials(first.connection).find((need) => options.credentials.commands?.commands.has(need.name));
    if (command) {
      terminal.warn(`the tools of "${name}" were not checked: the credential "${command.name}" is a command, which only a run starts`);
      continue;
    }
    try {
      const { tools } = await queryServer(first.connection, options, terminal);
      for (const { check } of uses) problems.push(...check(tools, options.textCells));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const reason = cleaned(messageWithAdvice(error)).replaceAll('\n', '\n  ');
      terminal.warn(`the tools of "${name}" were not checked: ${reason}`);
    }
  }
  if (problems.length > 0) throw new FlowError(flow, problems);
}
