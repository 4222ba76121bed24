import { shellWord } from '../../core/text/quoted-word.ts';
import type { ServerInfo } from '../../serve/page/page-shapes.ts';
import type { FlowShape } from '../../serve/shapes.ts';
import { Table } from '../parts/table.tsx';
import { Panel } from '../parts/tiles.tsx';
import { queryOf } from './flows/run-dialog.tsx';
import { CodeBlock, LoadedView } from './frame/feedback.tsx';
import { Frame } from './frame/frame.tsx';
import { useLoaded } from './use-loaded.ts';

export function DocsPage() {
  const { data: server } = useLoaded<ServerInfo>('/server');
  const { data } = useLoaded<{ readonly flows: readonly FlowShape[] }>('/flows');
  const openApi = useLoaded<ShownDescription>('/openapi.json');
  const flow = data?.flows.find(({ state }) => state === 'valid') ?? { id: 'my-flow', fields: ['id'] };
  const address = server?.address ?? location.origin;
  return (
    <Frame title="HTTP interface" sub="everything under /v1 needs an API key">
      <div class="stack">
        <Panel title="First steps">
          <h3>
            1. <a href="/settings/keys">Create a key</a>, and put it into the environment of your program
          </h3>
          <CodeBlock text="export AUTOMATE_KEY=amk_..." label="Key in the environment" />
          <h3>2. One record in, its records out</h3>
          <CodeBlock text={curlOfCall(address, flow)} label="curl for a call" />
          <h3>3. Or a file of records: it is stored first, then it runs</h3>
          <CodeBlock text={curlOfRun(address, flow)} label="curl for a run" />
          <h3>4. Follow a run, and get its output</h3>
          <CodeBlock text={followText(address)} label="curl for progress and output" />
        </Panel>
        <Panel title="Routes" note="also as OpenAPI 3.1 at /v1/openapi.json">
          <LoadedView loaded={openApi}>
            {(description) => (
              <Table
                label="Routes"
                rows={routesOf(description)}
                columns={[
                  { title: 'Method', cell: ({ method }) => <code>{method}</code> },
                  { title: 'Path', cell: ({ path }) => <code>{path}</code> },
                  { title: 'What it does', isWide: true, cell: ({ summary }) => summary },
                ]}
              />
            )}
          </LoadedView>
        </Panel>
        <Panel title="Good to know">
          <ul class="notes">
            <li>
              Errors are <code>application/problem+json</code>; the page at <code>type</code> says what to do.
            </li>
            <li>
              An <code>Idempotency-Key</code> makes it safe to send a call or a run again: within 24 hours it gets the first answer, and
              costs nothing.
            </li>
            <li>If a record fails, the status is 422, never 5xx, because clients that retry by themselves would pay again.</li>
            <li>
              429 and 503 carry <code>Retry-After</code>.
            </li>
          </ul>
        </Panel>
      </div>
    </Frame>
  );
}

function followText(address: string): string {
  const get = (path: string) => `curl -H "Authorization: Bearer $AUTOMATE_KEY" ${address}/v1/runs/RUN_ID/${path}`;
  return `${get('events')}\n${get('output')} -o enriched.csv`;
}

interface ShownDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary?: string }>>>>;
}

interface ShownRoute {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
}

const methods = ['get', 'post', 'put', 'delete'];

/** Lists the routes in an OpenAPI description, in the order of the description. */
function routesOf({ paths }: ShownDescription): ShownRoute[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    methods.flatMap((method) => {
      const operation = operations[method];
      return operation ? [{ method: method.toUpperCase(), path, summary: operation.summary ?? '' }] : [];
    }),
  );
}

export function curlOfCall(address: string, { id, fields, ...flow }: Pick<FlowShape, 'id' | 'fields' | 'open_vars'>): string {
  const record = Object.fromEntries(fields.map((field) => [field, '...']));
  return [
    `curl ${shellWord(`${address}/v1/flows/${id}/calls${neededQuery(flow)}`)}`,
    '-H "Authorization: Bearer $AUTOMATE_KEY"',
    "-H 'Content-Type: application/json'",
    `-d ${shellWord(JSON.stringify(record))}`,
  ].join(' \\\n  ');
}

/** The request waits up to a minute for the run to end. A flow that needs no fields runs once, over an empty record. */
export function curlOfRun(address: string, { id, fields, ...flow }: Pick<FlowShape, 'id' | 'fields' | 'open_vars'>): string {
  const [type, data] = fields.length === 0 ? ['application/x-ndjson', "-d '{}'"] : ['text/csv', '--data-binary @records.csv'];
  return [
    `curl ${shellWord(`${address}/v1/flows/${id}/runs${neededQuery(flow)}`)}`,
    '-H "Authorization: Bearer $AUTOMATE_KEY"',
    `-H 'Content-Type: ${type}' -H 'Prefer: wait=60'`,
    data,
  ].join(' \\\n  ');
}

/** Returns a query string with the flow's variables that have no default, because a request must set them. */
function neededQuery({ open_vars: open = [] }: Pick<FlowShape, 'open_vars'>): string {
  return queryOf(Object.fromEntries(open.flatMap(({ name, default: value }) => (value === null ? [[name, '...']] : []))));
}
