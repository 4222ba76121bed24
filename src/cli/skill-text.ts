import { factNames } from '../core/answer/facts.ts';
import { allAuthNames } from '../core/auth/auth.ts';
import { libraries } from '../core/condition/functions.ts';
import { version } from '../core/version.ts';
import { type JsonSchema, toJsonSchema } from '../flow/json-schema.ts';
import { flowSchema, nodeSchema } from '../flow/schema.ts';
import { loadNodeTypes } from '../run/node-types.ts';
import { type DescribedOption, describedOptions, valueForms } from './described-options.ts';
import { exitCodeMeanings } from './exit-code-meanings.ts';
import type { CommandSpec, Declarations } from './options.ts';

/** Returns a SKILL.md (agentskills.io/specification). Its keys, options, examples and codes come from the tables of the program. */
export async function skillText(commands: readonly CommandSpec[]): Promise<string> {
  const run = commands.find(({ name }) => name === 'run')?.options ?? {};
  const sections = {
    'From a job to a finished file': way.map((step, index) => `${index + 1}. ${step}`),
    'What costs something': costs,
    'Credentials, without reading a secret': secrets,
    'A flow': flowExample,
    'Keys of a flow file': keyLines(toJsonSchema(flowSchema), fileKeys),
    ...(await nodeSections()),
    'Values, templates, paths and expressions': [
      ...valueForms.filter(([kind]) => formsShown.includes(kind)).map(([kind, form]) => `- ${kind}: ${form}`),
      ...language,
    ],
    'Options of `run` that are used most': [...optionLines(run, usedMost), '', '`automate run --help` prints all options.'],
    'Output for programs': outputsOf(commands),
    'Exit codes': ['| code | meaning | what to do |', '| --- | --- | --- |', ...exitCodeRows],
    More: more,
  };
  const texts = Object.entries(sections).map(([title, lines]) => `## ${title}\n${lines.join('\n')}`);
  return [introduction, ...texts].join('\n\n');
}

const introduction = `---
name: automate
description: Runs a YAML flow over every record of a CSV, JSON or Excel file with the automate command, such as an HTTP request, an MCP tool or a question to a language model for each row, and writes the file with the answers as new columns. Use it to enrich, look up, geocode, check, classify or send the rows of a file through an API, to retry failed rows, and whenever there is a flow.yaml or a curl command that should run once for each row.
license: MIT
compatibility: Needs the automate command, which needs Node 20.18, or 22.2 or later.
metadata:
  version: "${version}"
---
# automate

\`automate\` sends the records of a file (CSV, TSV, JSON, NDJSON, Excel) through a flow. A flow is a YAML file with a list of nodes, such as an HTTP request. Records are processed in parallel and written in input order, with the fields that the answers add. Rate limits, retries, secrets, and continuing after a crash are built in, so do not write a script for them.

- Look before you send: the first commands of the way cost nothing, and the next one sends a single request.
- Do not guess keys and options. The lists below are short. \`automate nodes TYPE\` prints every key of a node type, \`automate COMMAND --help\` every option of a command, and \`automate validate\` names the line and column of each mistake.
- Read stderr. Results go to stdout, messages to stderr, and a message often ends with the command that solves the problem.
- Do not use \`--force\` or \`--replace\` unless the user wants to lose the existing file.`;

const way = [
  "Make a flow: `automate init job --in rows.csv --from-curl 'curl https://api.example.com/users/17'` writes `job/flow.yaml`. Put a value of the first record into the request (here the id 17), and `init` writes its field in that place, as `{{id}}`. If it says that no field is used, write `{{field}}` there yourself. Write `X` instead of a token: `init` leaves it out, and names the credential to set. It also reads `--from-openapi FILE --operation ID`, `--from-har FILE --entry N` and `--from-postman FILE --request NAME`. You can also write the flow yourself, from the examples below.",
  'Check it: `automate validate job/flow.yaml --in rows.csv`. Do this after every change. It also finds fields that are not columns of the input. Read its warnings, too: most of them are mistakes, such as a reference that stays text. It ends with exit code 7 if a credential is missing; `--offline` only warns about that.',
  'Send one request: `automate test-request job/flow.yaml --in rows.csv` sends the request of the first record, and lists the paths in the answer. `--record 3` takes another record, `--node ID` another node (the nodes before it run first), `--no-send` only shows the request.',
  "Choose the columns: `automate test-request job/flow.yaml --in rows.csv --write 'data.user.name'` sends the request once more, and adds these paths (separated by commas) to `map`. You can also write them into the flow yourself, with names of your own. Then validate again.",
  'Look at the plan: `automate run job/flow.yaml --in rows.csv --out out.csv --dry-run` sends nothing, and prints how many requests and credits the run needs, its time, and what language models would cost. Tell the user before you run something big.',
  'Try it on some: `automate run job/flow.yaml --in rows.csv --out out.csv --pilot 40` runs 40 records for real and prints their new fields, their failures, and what the rest will take. It then ends with exit code 5 and the command that continues, in which nothing is paid twice. If the user agrees, use that command instead of the next step. A file with fewer records is simply run.',
  'Run it: `automate run job/flow.yaml --in rows.csv --out out.csv --summary run.json`. Add `--max-errors 5%` so that it stops early if something is wrong. Then read `failed`, `failures`, `mapped` (a path that is found in few answers may have a typo) and `next` in `run.json`. If the run was interrupted, add `--resume` to the same command: it keeps what is written, and runs the other records.',
  'Retry: `automate retry out.csv` runs only the failed records, and inserts their rows into `out.csv` in input order. They are in `out.errors.csv`, with the columns `_error_class`, `_error_status` and `_error_message`. Correct their fields there, or the flow, before you retry: a 4xx fails again unless something has changed. Until then, do not change `out.csv`, and leave `out.csv.automate` next to it.',
];

const costs = [
  '- Free: `automate init`, `automate validate`, `automate nodes`, `automate schema`, `automate test` (runs the tests of flows with saved answers), `automate doctor`, `automate run --dry-run`, `automate test-request --no-send` and `automate test-request --curl`.',
  '- One credit for each action: a request with its retries, a page, a poll, a whole batch, a tool call, a question to a language model, a lookup. Credits only count; what the API or the provider bills is separate. Answers from `cache` cost nothing.',
  '- `automate credits` shows what was spent, and the monthly allowance. `--max-credits 500` limits one run, and the key `max_cost` of an `llm` node limits its money. At a limit, the run ends with exit code 5, and `--resume` continues it. Do not raise a limit without asking.',
];

const secrets = [
  '- A flow contains only the name of a credential: `auth: { type: bearer, credential: crm-token }`, and `{ credential: crm-token }` as a value inside `body`. Never write a secret into a flow, a command line or a file.',
  "- Do not ask for the secret, and do not open files or variables that contain it. Ask the user to run `automate credentials set crm-token` in their own terminal, where they type it unseen. If it is in a password manager, you can store the command that prints it: `automate credentials set crm-token --command 'op read op://team/crm/token'`. In CI, it is in the variable `AUTOMATE_CREDENTIAL_CRM_TOKEN`.",
  '- `automate credentials list` shows names, and `automate credentials check crm-token` looks one up. No command prints a secret: requests and messages show `***`. If a message asks for the passphrase of the vault, ask the user to set `AUTOMATE_VAULT_PASSPHRASE_FILE` where you run.',
  `- Types of \`auth\`: ${inCode(allAuthNames)}. \`automate connections --help\` is about endpoints that several flows share.`,
];

const flowExample = `\`\`\`yaml
connections:
  crm: { type: http, base_url: https://api.example.com/v2, auth: { type: bearer, credential: crm-token }, rate: 10/s }
nodes:
  - type: filter
    where: has(email) && email != "" # other records are dropped; an empty cell is ""
  - id: user
    type: http
    connection: crm
    url: /users/{{id}} # escaped for the URL
    fail_when: has(body.error) # an error that comes with status 200
    map:
      name: { path: data.user.name, required: true } # without the path, the record fails
      plan: { path: "subscriptions[0].plan", default: none }
      order: orders[].number # one row for each order
  - type: http
    when: plan == "pro" # other records skip this node
    method: POST
    connection: crm
    url: /search
    body: { name: "{{name}}", age: { cel: int(age) } } # a cell is text, int() makes it a number
    paginate: { type: cursor, path: next_cursor, param: cursor, max: 20 }
    map: { hit: "items[].title" }
  - type: set
    fields: { label: "{{name}} ({{plan}})", total: { cel: "round(double(price) * 1.19, 2)" } }
    remove: [price]
\`\`\``.split('\n');

/** The sections that are made from the registry of node types. */
async function nodeSections(): Promise<Readonly<Record<string, readonly string[]>>> {
  const types = await loadNodeTypes();
  const http = types.filter(({ name }) => name === 'http');
  return {
    'Keys of an `http` node that are used most': [
      ...http.flatMap((type) => keyLines(toJsonSchema(nodeSchema(type)), httpKeys)),
      '',
      'Every node has `id`, `when` and `on_error`. `automate nodes http` prints the other keys.',
    ],
    'Node types, with an example of each': ['```yaml', ...types.flatMap(({ summary, example }) => [`# ${summary}`, example]), '```'],
  };
}

const fileKeys = ['description', 'connections', 'vars', 'columns', 'serial_by', 'nodes'];

const httpKeys = [
  ...['id', 'when', 'on_error', 'connection', 'auth', 'method', 'url', 'headers', 'body', 'form', 'map', 'when_empty', 'rate'],
  ...['concurrency', 'timeout', 'retry.max', 'retry.on', 'cache', 'fail_when'],
  ...['paginate.type', 'paginate.path', 'paginate.items', 'paginate.param', 'paginate.until', 'batch.size', 'batch.items', 'batch.match'],
];

const formsShown = ['string', 'duration', 'rate', 'size', 'distance'];

const language = [
  '- Template: `{{field}}` inserts a field, escaped for its place (URL, header, JSON, form). Names have letters, digits and `_`; for a column with another name, write `columns: { first_name: First Name }` at the top of the flow. A value that is only `"{{age}}"` in a JSON body keeps its type, but cells of CSV and Excel are text. Take a value that is inside a field out with `set` first: `fields: { domain: { cel: org.domain } }`.',
  `- Path: \`data.user.name\`, \`results[0].value\`, \`data["odd key"]\`, \`items[].id\` (one row for each element), \`$body\`, \`$status\`, \`$headers.etag\`, and ${inCode(factNames.map((name) => `$${name}`))} for how the answer came.`,
  '- Expression: CEL, in `when`, `where`, `while`, `until`, `fail_when`, `retry_when`, `rules` and `{ cel: ... }`. Fields are names: `has(email) && int(age) >= 18`. `fail_when` and `retry_when` see `body`, `status`, `headers` and `record`. Cells are text: compare `amount == "3"` or `int(amount) == 3`. Both values after `?` need the same type.',
  `- Functions beyond those of CEL: \`now()\`, \`round(x, digits)\`, ${inCode(Object.entries(libraries).flatMap(([library, names]) => names.map((name) => `${library}.${name}`)))}, and methods of text such as \`trim()\`, \`split(",")\`, \`replace("-", "")\`, \`lowerAscii()\` and \`matches("^[A-Z]+$")\`.`,
];

const usedMost = [
  ...['in', 'out', 'dryRun', 'pilot', 'limit', 'set', 'var', 'records', 'resume', 'update', 'replace', 'errors'],
  ...['keepAnswers', 'maxCredits', 'maxErrors', 'concurrency', 'summary', 'env', 'allowHttp'],
];

function optionLines(options: Declarations, names: readonly string[]): string[] {
  return names.flatMap((name) => (options[name] ? [`- \`${options[name].flags}\`: ${options[name].help}`] : []));
}

function outputsOf(commands: readonly CommandSpec[]): readonly string[] {
  const named = (option: string) => inCode(commands.flatMap((command) => pathsWith(command, option)).map((path) => `automate ${path}`));
  return [
    `- \`--summary FILE\` (${named('summary')}): counts, failures, how often each path was found, \`exit_code\`, and \`next\`, the commands that you can run next. With \`--dry-run\`, the plan.`,
    `- \`--events FILE\` (${named('events')}): a line of JSON for everything that happens to a record.`,
    `- \`--json\` (${named('json')}): the result as JSON on stdout. For \`test-request\`, \`structure\` has the paths.`,
    '- An output whose name ends in `.ndjson` or `.json` keeps types and nesting; cells of CSV contain JSON for lists and objects. `--out -` writes to stdout.',
  ];
}

function pathsWith({ name, options = {}, commands = [] }: CommandSpec, option: string): string[] {
  return [...(option in options ? [name] : []), ...commands.flatMap((inner) => pathsWith(inner, option)).map((path) => `${name} ${path}`)];
}

const more = [
  '- `automate schema` prints the JSON Schema of flows, and `automate nodes` also lists the tools of saved MCP servers.',
  '- `automate test-request FLOW --in FILE --save-test NAME` saves an answer as a test of the flow, which `automate test` runs without sending anything.',
  '- To offer a flow to agents as a tool instead of running it: `automate mcp DIR`. To offer it over HTTP: `automate serve DIR`.',
  '- The pages are in the folder `docs` of the package; `docs/llms.txt` lists them: `cat "$(dirname "$(realpath "$(command -v automate)")")/../docs/llms.txt"`.',
];

function keyLines(schema: JsonSchema, names: readonly string[]): string[] {
  const described = new Map(describedOptions(schema).map((option) => [option.name, option]));
  return names.map((name) => keyLine(described.get(name) as DescribedOption));
}

function keyLine({ name, kind, isRequired, value, defaultText, description }: DescribedOption): string {
  const shown = defaultText ?? value;
  const more = isRequired ? ', required' : shown === undefined ? '' : `, default ${shown}`;
  // A list of forty HTTP methods would help nobody.
  return `- \`${name}\` (${kind.length > 80 ? 'name' : kind}${more}): ${description}`;
}

const exitCodeRows = exitCodeMeanings.map(({ code, meaning, next }) => `| ${code} | ${meaning} | ${next} |`);

function inCode(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}
