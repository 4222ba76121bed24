import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** Starts a server from examples/ on a free port for the current test. Returns the origin that it prints. */
export async function startExampleServer(script: string): Promise<string> {
  const path = fileURLToPath(new URL(`../../examples/${script}`, import.meta.url));
  const child = spawn(process.execPath, [path, '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  const [printed] = await once(child.stdout, 'data');
  return /http:\/\/[\d.:]+/.exec(String(printed))?.[0] ?? '';
}
