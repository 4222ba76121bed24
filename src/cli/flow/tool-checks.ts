import { cleaned } from '../../core/answer/response.ts';
import { Failure, FlowError, type Problem } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { type AskingOptions, serverWith } from '../connections/tool-server.ts';
import type { Terminal } from '../terminal.ts';
import type { FlowSecrets } from './flow-secrets.ts';

/**
 * Asks the servers of a flow for their tools. A server that cannot be reached is told, and is no problem of the flow.
 * Throws a FlowError for tools that are not there, and for arguments that a tool does not have or needs.
 */
export async function checkTools(
  plan: Plan,
  flow: string,
  credentials: FlowSecrets,
  options: AskingOptions & { readonly isTable: boolean },
  terminal: Terminal,
): Promise<void> {
  const problems: Problem[] = [];
  for (const name of new Set(plan.tools.map(({ connection }) => connection.name))) {
    const uses = plan.tools.filter(({ connection }) => connection.name === name);
    const [first] = uses;
    if (!first) continue;
    try {
      const { tools } = await serverWith(first.connection, credentials, options, terminal);
      for (const { check } of uses) problems.push(...check(tools, options.isTable));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const reason = cleaned(error.message).replaceAll('\n', '\n  ');
      terminal.warn(`the tools of "${name}" were not checked: ${reason}`);
    }
  }
  if (problems.length > 0) throw new FlowError(flow, problems);
}
