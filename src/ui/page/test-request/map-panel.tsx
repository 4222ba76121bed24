import { useState } from 'preact/hooks';
import type { FlowText, ServerInfo, ShownPath, ShownTest } from '../../../serve/page/page-shapes.ts';
import type { FlowShape } from '../../../serve/shapes.ts';
import { counted, duration } from '../../figures.ts';
import { Table } from '../../parts/table.tsx';
import { Empty, Panel } from '../../parts/tiles.tsx';
import { sendRequest } from '../api.ts';
import { ActionButton, CodeBlock, LoadedView, ProblemNotice } from '../frame/feedback.tsx';
import { useAction, useLoaded } from '../use-loaded.ts';
import { type MappedParts, mappedRows, mapYaml, type PathMap, renamed, toggled } from './path-map.ts';
import { headerLines } from './request-view.tsx';

interface MapPanelProps {
  readonly flow: FlowShape;
  readonly node: string;
  readonly map: PathMap;
  readonly written: PathMap;
  readonly answer: MappedParts;
  /** ETag of the version of the flow file that contains the map in `written`. */
  readonly etag: string;
  readonly onChange: (map: PathMap) => void;
}

function MapPanel({ flow, node, map, written, answer, etag, onChange }: MapPanelProps) {
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

type Answered = ShownTest & { readonly response: NonNullable<ShownTest['response']> };

interface AnswerViewProps {
  readonly flow: FlowShape;
  /** The id of the node that sent the request. If empty, it is the first node that sends one. */
  readonly node: string;
  readonly result: Answered;
}

export function AnswerView({ flow, node, result }: AnswerViewProps) {
  const text = useLoaded<FlowText>(`/flows/${encodeURIComponent(flow.id)}/text`);
  return (
    <LoadedView loaded={text}>
      {(loaded) => {
        const own = loaded.nodes.find(({ id, map }) => (node === '' ? map !== null : id === node));
        return <Mapped flow={flow} node={own?.id ?? node} text={loaded} written={own?.map ?? {}} result={result} />;
      }}
    </LoadedView>
  );
}

interface MappedProps extends AnswerViewProps {
  readonly text: FlowText;
  readonly written: PathMap;
}

function Mapped({ flow, node, text, written, result }: MappedProps) {
  const [map, setMap] = useState<PathMap>(written);
  const { response, structure, more_paths: more = 0 } = result;
  return (
    <div class="two">
      <Panel
        title="Answer"
        note={[response.status, response.ms === undefined ? undefined : duration(response.ms)].filter(Boolean).join(', ')}
      >
        {response.headers !== undefined && (
          <details>
            <summary>Headers</summary>
            <pre>{headerLines(response.headers).join('\n')}</pre>
          </details>
        )}
        {structure === null || structure.length === 0 ? (
          <Empty>The answer has no paths.</Empty>
        ) : (
          <Paths rows={structure} map={map} onToggle={(path) => setMap((before) => toggled(before, path, flow.fields))} />
        )}
        {more > 0 && <p>and {counted(more, 'more path')}</p>}
      </Panel>
      <MapPanel {...{ flow, node, map, written, answer: response, etag: text.etag }} onChange={setMap} />
    </div>
  );
}

interface PathsProps {
  readonly rows: readonly ShownPath[];
  readonly map: PathMap;
  readonly onToggle: (path: string) => void;
}

function Paths({ rows, map, onToggle }: PathsProps) {
  const chosen = new Set(Object.values(map));
  return (
    <Table
      label="Paths of the answer"
      rows={rows}
      columns={[
        {
          title: 'Path',
          isWide: true,
          cell: ({ path }) => (
            <button type="button" class="path" aria-pressed={chosen.has(path)} onClick={() => onToggle(path)}>
              <code>{path}</code>
            </button>
          ),
        },
        { title: 'Type', cell: ({ type }) => type },
        { title: 'Sample', cell: ({ sample }) => <code>{sample}</code> },
      ]}
    />
  );
}
