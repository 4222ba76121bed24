// An MCP server over stdio that violates rules, or uses rare features. Its first argument selects the case.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , manner = '', note = ''] = process.argv;
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const noted = (text) => note && appendFileSync(note, `${text}\n`);
noted(`started ${process.pid}`);
if (manner === 'dies-at-once') {
  console.error('cannot find the database\n    at connect (db.js:1:1)');
  process.exit(3);
}
if (manner === 'dies-loudly') {
  process.stderr.write(`the key ${process.env.KEY} ${'x'.repeat(1980)}\ncannot start\n`);
  process.exit(3);
}
if (manner === 'never-ready') setInterval(() => {}, 1000);

const text = (said) => ({ content: [{ type: 'text', text: said }] });
const schema = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
const deep = JSON.parse('['.repeat(100) + ']'.repeat(100));
const untidy = {
  type: 'object',
  description: 5,
  properties: {
    id: { type: { x: 1 }, enum: 'abc', description: ['a'] },
    a: { anyOf: {} },
    b: { anyOf: [null, { type: [1, 'string'] }], title: {} },
    c: null,
    d: { type: 'array', items: 'x' },
    e: true,
    f: { default: deep, enum: [1, deep] },
  },
  allOf: deep,
  required: ['id'],
};
let calls = 0;
let tools = ['work', 'other'];
const asked = new Map();

const describe = (name) => ({ name, description: name === 'work' ? 'Does \u001b[31mwork\u001b[0m.' : 'More.', inputSchema: schema });

const list = ({ cursor }) => {
  if (manner === 'repeats') return { tools: [{ ...describe('work'), description: `Uses ${process.env.SECRET}.` }] };
  if (manner === 'escapes')
    return { tools: [{ name: 'evil\u001b]0;owned\u0007\u001b[2J', description: 'wipes\u001b[2J', inputSchema: schema }] };
  if (manner === 'untidy') return { tools: [{ ...describe('work'), inputSchema: untidy }] };
  if (manner === 'nulls') {
    const tool = {
      ...describe('work'),
      title: null,
      description: null,
      annotations: { title: null, readOnlyHint: null },
      outputSchema: null,
      icons: null,
    };
    const open = { name: 'open', inputSchema: null };
    return { tools: [{ ...tool, inputSchema: { ...schema, additionalProperties: null } }, open], nextCursor: null, _meta: null };
  }
  if (manner === 'no-tools') return { tools: null };
  if (manner === 'endless') return { tools: [describe(`tool-${cursor}`)], nextCursor: `${Number(cursor ?? 0) + 1}` };
  if (manner !== 'pages') return { tools: tools.map(describe) };
  const page = Number(cursor ?? 1);
  return { tools: [describe(`tool-${page}`)], ...(page < 5 && { nextCursor: String(page + 1) }) };
};

/** Starts a child process that ignores SIGTERM, and waits until it does. */
const leaveChild = async () => {
  const script = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); process.send('deaf')";
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  await once(child, 'message');
  child.disconnect();
  child.unref();
  noted(`child ${child.pid}`);
};

/** Sends a request to the client. Resolves to the answer. */
const ask = (method, params) =>
  new Promise((resolve) => {
    const id = `ask-${asked.size}`;
    asked.set(id, resolve);
    send({ id, method, params });
  });

const call = async ({ arguments: args = {}, _meta = {} }) => {
  calls++;
  noted(`call ${args.id}`);
  switch (manner) {
    case 'dies':
      return calls > 3 ? process.exit(7) : text(`ok ${args.id}`);
    case 'always-dies':
      return process.exit(7);
    case 'hangs':
      return args.id === '2' ? new Promise(() => {}) : text(`ok ${args.id}`);
    case 'junk':
      process.stdout.write('Listening on port 3000...\n{"half": \n\n');
      return text(`ok ${args.id}`);
    case 'no-message':
      process.stdout.write('{"id":9,"result":{}}\n');
      return new Promise(() => {});
    case 'scalars':
      process.stdout.write('42\n"hi"\ntrue\nnull\n0\n');
      return text(`ok ${args.id}`);
    case 'leaves-a-child':
      await leaveChild();
      return text(`ok ${args.id}`);
    case 'huge':
      return text(args.id === '2' ? 'x'.repeat(11_000_000) : `ok ${args.id}`);
    case 'deep':
      return { content: [], structuredContent: JSON.parse(`{"a":${'['.repeat(3500)}${']'.repeat(3500)}}`) };
    case 'fails':
      return { ...text(`no such customer: \u001b[31m${args.id}\u001b[0m`), isError: true };
    case 'refuses':
      return Promise.reject(new Error(`bad ${args.id}`));
    case 'tells':
      send({ method: 'notifications/message', params: { level: 'warning', logger: 'db', data: `slow ${process.env.SECRET ?? ''}` } });
      if (_meta.progressToken !== undefined) {
        send({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress: 1, total: 2, message: 'half' } });
      }
      return text(`ok ${args.id}`);
    case 'asks': {
      const answers = [];
      answers.push(await ask('ping', {}));
      answers.push(
        await ask('sampling/createMessage', { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 5 }),
      );
      answers.push(await ask('elicitation/create', { message: 'who?', requestedSchema: { type: 'object', properties: {} } }));
      answers.push(await ask('roots/list', {}));
      return text(answers.map(({ result, error }) => (error ? `refused ${error.code}` : JSON.stringify(result))).join(' '));
    }
    case 'changes':
      tools = ['work', 'other', `new-${calls}`];
      send({ method: 'notifications/tools/list_changed' });
      return text(`ok ${args.id}`);
    case 'raw':
      // The argument is the answer itself, with ID in the place of the id of the call.
      return { raw: args.id };
    case 'nulls':
      return {
        content: [{ type: 'text', text: '{"a":null}', annotations: null, _meta: null }],
        structuredContent: null,
        isError: null,
        _meta: null,
      };
    case 'wrong':
      return { content: 'no list' };
    case 'environment':
      return text(JSON.stringify(process.env));
    default:
      return text(`ok ${args.id}`);
  }
};

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params = {}, ...answer } = JSON.parse(line);
  if (method === undefined) return asked.get(id)?.(answer);
  if (method === 'notifications/cancelled') noted(`cancelled ${params.requestId}`);
  if (id === undefined || manner === 'never-ready') return undefined;
  try {
    if (method === 'initialize') {
      const result = {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: { listChanged: true }, logging: {}, ...(manner === 'nulls' && { prompts: null, resources: null }) },
        serverInfo: { name: 'odd', version: '1.0.0', ...(manner === 'nulls' && { title: null, websiteUrl: null }) },
        ...(manner === 'nulls' && { instructions: null, _meta: null }),
      };
      return send({ id, result });
    }
    if (manner === 'endless') await new Promise((resolve) => setTimeout(resolve, 50));
    if (manner === 'never-lists') return undefined;
    if (method === 'tools/list') return send({ id, result: list(params) });
    if (method === 'tools/call') {
      const result = await call(params);
      return result.raw ? process.stdout.write(`${result.raw.replaceAll('ID', JSON.stringify(id))}\n`) : send({ id, result });
    }
    return send({ id, error: { code: -32601, message: 'Method not found' } });
  } catch (error) {
    return send({ id, error: { code: -32602, message: error.message } });
  }
});
