// Runs the official conformance suite against the tool's MCP server, for the features that it implements. Build first. The suite needs Node
// 22 or later; the server runs with the current Node. A proxy adds the API key, which the suite cannot send.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const suite = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const bin = fileURLToPath(new URL('../../bin/automate.js', import.meta.url));

/** The scenarios for implemented features, by protocol revision. Those about prompts, resources, forms and logging are omitted. */
const scenarios = {
  '2025-11-25': [
    'server-initialize',
    'server-session-lifecycle',
    'ping',
    'tools-list',
    'tools-call-simple-text',
    'tools-call-error',
    'tools-call-with-progress',
    'server-sse-multiple-streams',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'tools-list',
    'tools-call-simple-text',
    'tools-call-error',
    'tools-call-with-progress',
    'server-sse-multiple-streams',
    'dns-rebinding-protection',
    'http-header-validation',
  ],
};
const wanted = process.argv.slice(2);

const folder = mkdtempSync(join(tmpdir(), 'automate-conformance-'));
const environment = { ...process.env, AUTOMATE_HOME: join(folder, 'home') };
const api = createServer((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"done":true}'));
const address = await listening(api);
writeFlows();
const key = execFileSync(process.execPath, [bin, 'keys', 'create', 'suite', '--rate', '100000/min'], {
  env: environment,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
}).trim();
const server = spawn(process.execPath, [bin, 'serve', join(folder, 'flows'), '--port', '0', '--no-ui'], {
  env: environment,
  stdio: ['ignore', 'ignore', 'pipe'],
});
try {
  const target = new URL(await addressOf(server));
  const proxy = createServer((incoming, answer) => passOn(incoming, answer, target));
  const url = `${await listening(proxy)}/mcp`;
  const failed = [];
  for (const [revision, names] of Object.entries(scenarios))
    for (const name of names)
      if ((wanted.length === 0 || wanted.includes(name)) && !(await passes(url, revision, name))) failed.push(`${name} of ${revision}`);
  process.stdout.write(failed.length === 0 ? 'every scenario passes\n' : `failed: ${failed.join(', ')}\n`);
  process.exitCode = failed.length === 0 ? 0 : 1;
  proxy.closeAllConnections();
  proxy.close();
} finally {
  server.kill();
  api.close();
  rmSync(folder, { recursive: true, force: true });
}

function writeFlows() {
  const flows = {
    test_simple_text: 'nodes: [{ type: set, fields: { text: hello } }]',
    test_error_handling: 'nodes: [{ type: filter, where: "int(\\"x\\") > 1" }]',
    test_tool_with_progress: `nodes: [${[1, 2, 3].map((id) => `{ type: http, id: n${id}, url: "${address}/${id}", map: [done], rate: 3/s }`).join(', ')}]`,
  };
  mkdirSync(join(folder, 'flows'));
  for (const [id, text] of Object.entries(flows)) writeFileSync(join(folder, 'flows', `${id}.yaml`), text);
}

async function listening(http) {
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return `http://127.0.0.1:${http.address().port}`;
}

async function addressOf({ stderr }) {
  let said = '';
  for await (const chunk of stderr) {
    said += chunk;
    const found = / at (http:\S+)/.exec(said)?.[1];
    if (found === undefined) continue;
    stderr.resume();
    return found;
  }
  throw new Error(said);
}

/** Forwards a request with the API key. Replaces the proxy's port in Host and Origin with the server's; any other host is left as it is. */
function passOn(incoming, answer, target) {
  const own = incoming.socket.localPort;
  const asServer = (text) => text?.replace(`:${own}`, `:${target.port}`);
  const headers = { ...incoming.headers, authorization: `Bearer ${key}`, host: asServer(incoming.headers.host) };
  if (headers.origin !== undefined) headers.origin = asServer(headers.origin);
  const outgoing = request(
    { host: target.hostname, port: target.port, path: incoming.url, method: incoming.method, headers },
    (response) => {
      answer.writeHead(response.statusCode, response.headers);
      response.pipe(answer);
      response.on('error', () => answer.destroy());
    },
  );
  outgoing.on('error', () => answer.destroy());
  answer.on('close', () => outgoing.destroy());
  incoming.pipe(outgoing);
}

async function passes(url, revision, scenario) {
  const args = [
    '--yes',
    '-p',
    'node@24',
    '-p',
    suite,
    'conformance',
    'server',
    '--url',
    url,
    '--spec-version',
    revision,
    '--scenario',
    scenario,
  ];
  const child = spawn('npx', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const [code] = await once(child, 'close');
  process.stdout.write(code === 0 ? `passes: ${scenario} of ${revision}\n` : `${said}\n`);
  return code === 0;
}
