import type { ServerInfo } from '../../../serve/page/page-shapes.ts';
import type { FlowShape } from '../../../serve/shapes.ts';
import { counted } from '../../figures.ts';
import { Empty, Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { sendRequest } from '../api.ts';
import { CodeBlock } from '../frame/copy.tsx';
import { ActionButton, ProblemNotice } from '../frame/feedback.tsx';
import { useAction, useLoaded } from '../use-loaded.ts';
import { type AnswerParts, mappedRows, mapYaml, type PathMap, renamed, toggled } from './path-map.ts';

interface MapPanelProps {
  readonly flow: FlowShape;
  readonly node: string;
  readonly map: PathMap;
  readonly written: PathMap;
  readonly answer: AnswerParts;
  /** ETag of the version of the flow file that contains the map in `written`. */
  readonly etag: string;
  readonly onChange: (map: PathMap) => void;
}

/** Shows a node's `map` as form fields, as YAML, and as the rows that it extracts from the response. */
export function MapPanel({ flow, node, map, written, answer, etag, onChange }: MapPanelProps) {
  const { data: server } = useLoaded<ServerInfo>('/server');
  const entries = Object.entries(map);
  return (
    <div class="stack">
      <Panel title="Map" note={node === '' ? undefined : `of ${node}`}>
        {entries.length === 0 && <Empty>Choose a path of the answer to put it into the map.</Empty>}
        <ul class="map">
          {entries.map(([field, path]) => (
            <li key={path}>
              <input
                aria-label={`Field for ${path}`}
                value={field}
                spellcheck={false}
                onChange={({ currentTarget }) => {
                  const changed = renamed(map, field, currentTarget.value.trim());
                  if (changed === map) currentTarget.value = field;
                  onChange(changed);
                }}
              />
              <code>{path}</code>
              <button type="button" aria-label={`Remove ${path}`} onClick={() => onChange(toggled(map, path))}>
                ×
              </button>
            </li>
          ))}
        </ul>
        <CodeBlock text={mapYaml(map)} label="The map as YAML" />
        {server?.edit && <Save {...{ flow, node, map, written, etag }} />}
      </Panel>
      {entries.length > 0 && <Yield map={map} answer={answer} />}
    </div>
  );
}

function Yield({ map, answer }: Pick<MapPanelProps, 'map' | 'answer'>) {
  const rows = mappedRows(map, answer);
  return (
    <Panel title="The map yields" note={counted(rows.length, 'row')}>
      <Table
        label="Rows that the map makes"
        rows={rows}
        columns={Object.keys(map).map((field) => ({
          title: field,
          cell: (row: Readonly<Record<string, unknown>>) => <code>{valueText(row[field])}</code>,
        }))}
      />
    </Panel>
  );
}

function valueText(value: unknown): string {
  if (value === undefined) return 'nothing found';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function Save({ flow, node, map, written, etag }: Omit<MapPanelProps, 'answer' | 'onChange'>) {
  const action = useAction();
  const isChanged = mapYaml(map) !== mapYaml(written);
  const path = `/flows/${encodeURIComponent(flow.id)}/nodes/${encodeURIComponent(node)}/map`;
  const save = () =>
    void action.run(async () => {
      await sendRequest(path, { method: 'PUT', json: { map }, headers: { 'If-Match': etag } });
      location.reload();
    });
  return (
    <>
      <ProblemNotice problem={action.problem} />
      <div class="actions">
        <ActionButton action={action} kind="main" isDisabled={!isChanged} onAct={save}>
          {isChanged ? `Save to ${flow.id}` : 'As in the file'}
        </ActionButton>
      </div>
    </>
  );
}
