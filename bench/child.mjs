import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * A shell command that prints the process id of its child, waits for the child, and prints the CPU time of all child processes.
 * The shell gets that time from wait4, which includes every process.
 */
const wrapper = '"$@" 3>&- & echo $! >&3; wait $!; code=$?; times >&3; exit $code';

/**
 * Runs a command until it ends, and measures it: `seconds`, `cpuSeconds` (user and system), `peakMb` (resident memory; undefined
 * on systems without /proc). `stdout`: a file descriptor. Throws if the command fails.
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

/**
 * Returns the peak memory of a process in MB. The kernel keeps the peak (VmHWM), so reading it at intervals misses only growth after the
 * last reading.
 */
function peakMbOf(pid) {
  try {
    return Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024 || undefined;
  } catch {
    return undefined;
  }
}

/** Returns the CPU time of the child processes in seconds, from the last line of `times`: `0m1.234s 0m0.056s`. */
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
