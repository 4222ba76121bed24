import { render } from 'preact-render-to-string';
import { durationText } from '../core/duration.ts';
import type { RunView } from '../report/run-view.ts';
import { Panel, StateLabel } from './parts/tiles.tsx';
import { RunPanels } from './run/run-panels.tsx';
import theme from './theme.css';

/** The file loads no other files. Strings from the run are shown as text, never interpreted as markup. */
export function reportHtml(view: RunView, version: string): string {
  return `<!doctype html>\n${render(<Report view={view} version={version} />)}\n`;
}

/** The Content-Security-Policy of a report, which allows nothing but the styles in the file. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

function Report({ view, version }: { readonly view: RunView; readonly version: string }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content={policy} />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${view.flow} · ${utcTime(view.startedAt)} · automate`}</title>
        <style dangerouslySetInnerHTML={{ __html: theme }} />
      </head>
      <body class="report">
        <main>
          <Header view={view} />
          <RunPanels view={view} />
          <Commands view={view} />
          <footer>Written by automate {version}</footer>
        </main>
      </body>
    </html>
  );
}

function Header({ view }: { readonly view: RunView }) {
  const { flow, input, output, errors, startedAt, ms, ending, reason, state } = view;
  return (
    <header>
      <h1>{flow}</h1>
      <StateLabel view={view} />
      <p class="sub">
        <code>{input}</code> to <code>{output}</code>
        {errors !== undefined && (
          <>
            , failed records in <code>{errors}</code>
          </>
        )}
        <br />
        started <time dateTime={startedAt}>{utcTime(startedAt)}</time>, took {durationText(ms)}
      </p>
      {state !== 'finished' && (
        <p class={`notice ${state === 'failed' ? 'bad' : 'warn'}`}>
          <strong>{ending}</strong>
          {reason !== undefined && <span>{reason}</span>}
        </p>
      )}
    </header>
  );
}

function Commands({ view: { command, next } }: { readonly view: RunView }) {
  return (
    <Panel title="Command line">
      {command !== undefined && <pre>{command}</pre>}
      {next.map(({ why, command: line }) => (
        <div key={line}>
          <h3>{why}</h3>
          <pre>{line}</pre>
        </div>
      ))}
    </Panel>
  );
}

/** Formats a time in UTC, such as `2026-11-24 14:02 UTC`. `time` must be in UTC, too. */
function utcTime(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
}
