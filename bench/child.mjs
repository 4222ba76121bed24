import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Prints its child's id, waits for it, and prints the CPU time of its children: the shell gets it from wait4, which is complete. */
const wrapper = '"$@" 3>&- & echo $! >&3; wait $!; code=$?; times >&3; exit $code';

/**
 * Runs a command to its end and measures it: `seconds`, `cpuSeconds` (user and system), `peakMb` (resident memory; absent where
 * there is no /proc). `stdout`: a file descriptor. Throws when the command fails.
 */
export async function measure(command, { env = process.env, stdout = 'ignore' } = {}) {
  const startedAt = performance.now();
  const child = spawn('bash', ['-c', wrapper, 'bench', ...command], { env, stdio: ['ignore', stdout, 'pipe', 'pipe'] });
  const stderr = collect(child.stderr);
  const told = collect(child.stdio[3]);
  let peakMb;
  const poll = setInterval(() => {
    peakMb = peakMbOf(Number.parseInt(told(), 10)) ?? peakMb;
  }, 20);
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  const seconds = (performance.now() - startedAt) / 1000;
  clearInterval(poll);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}\n${stderr().slice(-2000)}`);
  return { seconds, cpuSeconds: childrenCpuSeconds(told()), peakMb };
}

function collect(stream) {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  return () => text;
}

/** The kernel records VmHWM, so reading it now and then misses only growth in the last moment. */
function peakMbOf(pid) {
  try {
    return Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024 || undefined;
  } catch {
    return undefined;
  }
}

/** The last line of `times` is the children's: `0m1.234s 0m0.056s`. */
function childrenCpuSeconds(text) {
  const [user, system] = text
    .trim()
    .split('\n')
    .at(-1)
    .split(' ')
    .map((time) => {
      const [, minutes, seconds] = /(\d+)m([\d.,]+)s/.exec(time);
      return Number(minutes) * 60 + Number(seconds.replace(',', '.'));
    });
  return user + system;
}
