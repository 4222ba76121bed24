import { useState } from 'preact/hooks';
import type { Library, Snippet } from '../../../serve/page/page-shapes.ts';
import { CodeBlock } from '../frame/copy.tsx';
import { LoadedView } from '../frame/feedback.tsx';
import { useLoaded } from '../use-loaded.ts';

/** Lists the node types, and the tools of each MCP connection. If the user chooses one, shows YAML to copy into a flow. */
export function LibraryPanel() {
  const library = useLoaded<Library>('/library');
  const [chosen, setChosen] = useState<string>();
  return (
    <aside class="panel" aria-label="Nodes and tools">
      <h2>Nodes and tools</h2>
      <LoadedView loaded={library}>
        {({ node_types, connections }) => (
          <>
            <Snippets title="Node types" group="node" snippets={node_types} chosen={chosen} onChoose={setChosen} />
            {connections.map(({ name, problem, tools }) => (
              <div key={name}>
                <Snippets title={`Tools of ${name}`} group={name} snippets={tools} chosen={chosen} onChoose={setChosen} />
                {problem !== null && <p class="warn">{problem}</p>}
              </div>
            ))}
            {connections.length === 0 && (
              <p class="dim">
                No MCP connection yet. Its tools would be here. <a href="/integrations">Add one</a>
              </p>
            )}
          </>
        )}
      </LoadedView>
    </aside>
  );
}

interface SnippetsProps {
  readonly title: string;
  readonly group: string;
  readonly snippets: readonly Snippet[];
  readonly chosen: string | undefined;
  readonly onChoose: (name: string | undefined) => void;
}

function Snippets({ title, group, snippets, chosen, onChoose }: SnippetsProps) {
  return (
    <>
      <h3>{title}</h3>
      <ul class="snippets">
        {snippets.map(({ name, summary, yaml }) => {
          const key = `${group} ${name}`;
          const isOpen = chosen === key;
          return (
            <li key={name}>
              <button type="button" class="link" aria-expanded={isOpen} onClick={() => onChoose(isOpen ? undefined : key)}>
                <strong>{name}</strong>
                <small>{summary}</small>
              </button>
              {isOpen && <CodeBlock text={yaml} label={`${name} as YAML`} />}
            </li>
          );
        })}
      </ul>
    </>
  );
}
