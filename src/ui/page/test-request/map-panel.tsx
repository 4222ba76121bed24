import { useState } from 'preact/hooks';
import { compilePath, lastName, type Path, valueAt } from '../../../core/answer/path.ts';
import { durationText } from '../../../core/duration.ts';
import { counted } from '../../../core/text/number.ts';
import { yamlMapWord } from '../../../core/text/quoted-word.ts';
import { freeName } from '../../../core/text/suggest.ts';
import { orUndefined, type Value } from '../../../core/value/value.ts';
import type { FlowText, ServerInfo, ShownPath, ShownTest } from '../../../serve/page/page-shapes.ts';
import type { FlowShape } from '../../../serve/shapes.ts';
import { Table } from '../../parts/table.tsx';
import { Empty, Panel } from '../../parts/tiles.tsx';
import { sendRequest } from '../api.ts';
import { ActionButton, CodeBlock, headerLines, LoadedView, ProblemNotice } from '../frame/feedback.tsx';
import { useAction, useLoaded } from '../use-loaded.ts';

interface MapPanelProps {
  readonly flow: FlowShape;
  readonly node: string;
  readonly map: PathMap;
  readonly written: PathMap;
  readonly answer: MappedParts;
  /** ETag of the version of the flow file that contains the map in `written`. */
  readonly etag: string;
  readonly file: string;
  readonly onChange: (map: PathMap) => void;
  readonly onSaved: () => void;
}

function MapPanel({ flow, node, map, written, answer, etag, file, onChange, onSaved }: MapPanelProps) {
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
        {server?.edit && <Save {...{ flow, node, map, written, etag, file, onSaved }} />}
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

function Save({ flow, node, map, written, etag, file, onSaved }: Omit<MapPanelProps, 'answer' | 'onChange'>) {
  const action = useAction();
  const isChanged = mapYaml(map) !== mapYaml(written);
  const path = `/flows/${encodeURIComponent(flow.id)}/nodes/${encodeURIComponent(node)}/map`;
  const save = () =>
    void action.run(async () => {
      await sendRequest(path, { method: 'PUT', json: { map }, headers: { 'If-Match': etag } });
      onSaved();
    });
  return (
    <>
      <ProblemNotice problem={action.problem} />
      <div class="actions">
        <ActionButton action={action} kind="main" isDisabled={!isChanged} onAct={save}>
          {isChanged ? `Save to ${file}` : 'As in the file'}
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
        return <Mapped {...{ flow, node: own?.id ?? node, text: loaded, written: own?.map ?? {}, result, onSaved: text.reload }} />;
      }}
    </LoadedView>
  );
}

interface MappedProps extends AnswerViewProps {
  readonly text: FlowText;
  readonly written: PathMap;
  readonly onSaved: () => void;
}

function Mapped({ flow, node, text, written, result, onSaved }: MappedProps) {
  const [map, setMap] = useState<PathMap>(written);
  const { response, structure, more_paths: more = 0 } = result;
  return (
    <div class="two">
      <Panel
        title="Answer"
        note={[response.status, response.ms === undefined ? undefined : durationText(response.ms)].filter(Boolean).join(', ')}
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
      <MapPanel {...{ flow, node, map, written, answer: response, etag: text.etag, file: text.file, onSaved }} onChange={setMap} />
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

/** The `map` of a node, from names of fields to paths in a response. */
type PathMap = Readonly<Record<string, string>>;

/**
 * Returns the map with a path added to it, under a name that is not in `taken`. If the map already contains the path, removes it instead.
 * @internal
 */
export function toggled(map: PathMap, path: string, taken: readonly string[] = []): PathMap {
  if (Object.values(map).includes(path)) return Object.fromEntries(Object.entries(map).filter(([, other]) => other !== path));
  const field = freeName(lastName(path), (name) => name in map || taken.includes(name));
  return { ...map, [field]: path };
}

/** Keeps the order of the fields. If the new name cannot be used, the map stays unchanged. @internal */
export function renamed(map: PathMap, field: string, name: string): PathMap {
  if (name === '' || (name !== field && name in map)) return map;
  return Object.fromEntries(Object.entries(map).map(([other, path]) => [other === field ? name : other, path]));
}

/** @internal */
export function mapYaml(map: PathMap): string {
  const entries = Object.entries(map);
  if (entries.length === 0) return 'map: {}';
  return ['map:', ...entries.map(([field, path]) => `  ${yamlMapWord(field)}: ${yamlMapWord(path)}`)].join('\n');
}

/** The parts of a response at which a path in a `map` can start. */
interface MappedParts {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly facts?: Readonly<Record<string, unknown>>;
}

const maxRows = 20;

/** A path with `[]` makes one row for each element of the array. The other fields are the same in all these rows. @internal */
export function mappedRows(map: PathMap, answer: MappedParts): Record<string, unknown>[] {
  const fields = Object.entries(map).map(([field, text]) => {
    const path = orUndefined(() => compilePath(text));
    return { field, values: path ? valuesAt(path, answer) : [], expands: path !== undefined && path.legs.length > 1 };
  });
  const longest = Math.max(1, ...fields.filter(({ expands }) => expands).map(({ values }) => values.length));
  return Array.from({ length: Math.min(maxRows, longest) }, (_, row) =>
    Object.fromEntries(fields.map(({ field, values, expands }) => [field, values[expands ? row : 0]])),
  );
}

function valuesAt({ root, legs }: Path, { status, headers = {}, body, facts = {} }: MappedParts): unknown[] {
  if (root === 'status') return [status];
  if (root === 'headers') return [headers[String(legs[0]?.[0])]];
  if (root !== 'body') return [facts[root]];
  const [first = [], ...rest] = legs;
  return rest.reduce<(Value | undefined)[]>(
    (lists, leg) => lists.flatMap((list) => (Array.isArray(list) ? list : [])).map((element) => valueAt(element, leg)),
    [valueAt(body as Value, first)],
  );
}
