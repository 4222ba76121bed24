import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { askingFlow, csvOf } from '../helpers/asking.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { unusedPort } from '../helpers/raw-server.ts';

const hasNginx = spawnSync('nginx', ['-v']).status === 0;
const unlessNginx = hasNginx ? '' : ' (skipped: there is no nginx)';

/** Writes the status of each request to access.log. */
const configOf = (place: Workplace, port: number, limit: string, headers: string) => `
daemon off; pid ${place.path('nginx.pid')}; error_log stderr emerg; worker_processes 1;
events { worker_connections 256; }
http {
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${place.path(name)};`).join(' ')}
  log_format statuses '$status'; access_log ${place.path('access.log')} statuses;
  limit_req_zone $server_addr zone=all:1m rate=50r/s; limit_req_status 429; keepalive_requests 100000;
  server {
    listen 127.0.0.1:${port}; default_type application/json;
    error_page 429 @refused;
    location @refused { ${headers} return 429 '{}'; }
    location / { limit_req zone=all ${limit}; try_files /none @answer; }
    location @answer { return 200 '{"name":"a"}'; }
  }
}`;

async function startNginx(place: Workplace, limit: string, headers: string): Promise<string> {
  const port = await unusedPort();
  await place.write('nginx.conf', configOf(place, port, limit, headers));
  const nginx = spawn('nginx', ['-e', 'stderr', '-p', place.folder, '-c', place.path('nginx.conf')], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  onTestFinished(async () => {
    if (nginx.exitCode === null) {
      nginx.kill();
      await once(nginx, 'exit');
    }
  });
  while (!(await accepts(port))) {
    if (nginx.exitCode !== null) throw new Error('nginx has ended');
    await sleep(20);
  }
  return `http://127.0.0.1:${port}`;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('close', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

test.skipIf(!hasNginx).each([
  ['burst=20 nodelay', ''],
  ['burst=1 nodelay', ''],
  ['burst=20 nodelay', 'add_header Retry-After 1 always;'],
])(`learns the rate of nginx with limit_req %s %s${unlessNginx}`, async (limit, headers) => {
  const place = await workplace({ 'rows.csv': csvOf(1000) });
  await place.write('flow.yaml', askingFlow(await startNginx(place, limit, headers)));
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
  expect(code).toBe(0);
  expect(stderr).toMatch(/learned [\d.]+\/s for 127\.0\.0\.1:\d+ \(rate: [\d.]+\/s would have avoided \d+ answers of 429\)/);
  expect((await place.read('access.log')).match(/^200$/gm)).toHaveLength(1000);
});
