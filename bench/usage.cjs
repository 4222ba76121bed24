// Loaded into each process of a run with workers. When the process ends, it appends its resource usage to the file in BENCH_USAGE.
const { appendFileSync } = require('node:fs');

process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const usage = { isRun: process.argv[2] === 'run', cpuUs: userCPUTime + systemCPUTime, peakMb: maxRSS / 1024 };
  appendFileSync(process.env.BENCH_USAGE, `${JSON.stringify(usage)}\n`);
});
