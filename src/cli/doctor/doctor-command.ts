import { exitCodes } from '../../run/exit-codes.ts';
import { printJson, type Terminal } from '../terminal.ts';
import type { DoctorFinding, DoctorOptions } from './finding.ts';
import { backendFindings, flowFindings, isFailedCommand } from './flow-findings.ts';
import { clockFinding, diskFindings, homeFindings, nodeFinding } from './machine-findings.ts';
import { authorityFinding, proxyFindings } from './network-findings.ts';

/** Sends no request. The exit code is 1 if there is a problem, 7 if a command that prints a secret failed. */
export async function doctorCommand(flow: string | undefined, options: DoctorOptions, terminal: Terminal): Promise<number> {
  const findings = [
    nodeFinding(process.versions.node),
    ...homeFindings(),
    clockFinding(Date.now()),
    ...diskFindings(),
    ...(await backendFindings(options, terminal)),
    ...(await proxyFindings()),
    await authorityFinding(options),
    ...(flow === undefined ? [] : await flowFindings(flow, options, terminal)),
  ];
  if (options.json)
    await printJson(
      findings.map((finding) => ({ ...finding })),
      terminal,
    );
  else await terminal.print(findings.map(findingText).join('\n'));
  if (findings.some(isFailedCommand)) return exitCodes.credential;
  return findings.some(({ state }) => state === 'problem') ? exitCodes.problemsFound : exitCodes.success;
}

const indent = ' '.repeat('problem  '.length);

function findingText({ check, state, message, advice }: DoctorFinding): string {
  const lines = [`${check}: ${message}`, ...(advice === null ? [] : [`  ${advice.replaceAll('\n', '\n  ')}`])].join('\n');
  return state.padEnd(indent.length) + lines.replaceAll('\n', `\n${indent}`);
}
