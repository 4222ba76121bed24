import { type Notice, readNotices } from '../places/data/data.ts';
import { dataFolder } from '../places/late-lookups.ts';
import { type DataSource, sources } from '../places/sources.ts';
import { command } from './options.ts';
import type { Terminal } from './terminal.ts';

export const notices = command({
  examples: ['automate notices'],
  run: ({ terminal }) => noticesCommand(terminal),
});

/** The notices of all data sources, and the licences of all embedded data and code. */
async function noticesCommand(terminal: Terminal): Promise<undefined> {
  const notices = await readNotices(dataFolder);
  const embedded = new Set(notices.map(({ source }) => source));
  const servers = Object.entries<DataSource>(sources).filter(([source]) => !embedded.has(source));
  await terminal.print(
    [
      'Data that is included in automate:',
      ...notices.flatMap(embeddedLines),
      '',
      'Data from servers and your own files:',
      ...servers.flatMap(([source, { text, url }]) => ['', source, ...indented(text.includes(url) ? text : `${text}\n${url}`)]),
    ].join('\n'),
  );
}

function embeddedLines({ source, package: name, version, date, licence }: Notice): string[] {
  const known: DataSource | undefined = (sources as Readonly<Record<string, DataSource>>)[source];
  return ['', `${name} ${version}, data of ${date}`, ...(known ? indented(`${known.text}\n${known.url}\n`) : []), ...indented(licence)];
}

function indented(text: string): string[] {
  return text.split('\n').map((line) => `  ${line}`.trimEnd());
}
