import { readConnections, type SavedConnections } from '../../credentials/connections-file.ts';
import { connectionText } from '../../flow/connections.ts';
import { findSaved } from '../../run/flow-folder.ts';
import { noteInAudit } from '../keys/stored-keys.ts';
import { tableText } from '../show/table.ts';
import { indentedJson, type Terminal } from '../terminal.ts';

export async function listConnections(name: string | undefined, options: { json?: boolean }, terminal: Terminal): Promise<undefined> {
  const saved = readConnections(process.env);
  const names = name === undefined ? Object.keys(saved).sort() : findSaved(name) && [name];
  if (options.json) await terminal.print(indentedJson(names.map((name) => ({ name, ...saved[name] }))));
  else if (names.length > 0) await terminal.print(tableText(await connectionRows(names, saved)).join('\n'));
  else terminal.say('no connections are saved; save one: automate connections add http NAME --base-url URL, or add mcp NAME --url URL');
}

async function connectionRows(names: readonly string[], saved: SavedConnections): Promise<string[][]> {
  const { writtenAuth } = await import('../../core/auth/auth.ts');
  const text = (value: unknown) => (value === undefined ? '-' : Array.isArray(value) ? value.join(' ') : String(value));
  const where = names.some((name) => saved[name]?.type === 'mcp') ? 'URL or command' : 'base URL';
  return [
    ['name', 'type', where, 'auth', 'credential', 'rate'],
    ...names.map((name) => {
      const { type, base_url, url, command, auth, rate, credentials: ofCommand = {} } = saved[name] ?? {};
      const { types, credentials } = writtenAuth(auth);
      const used = [...credentials, ...Object.values(ofCommand as Record<string, string>)];
      const address = text(base_url ?? url ?? command);
      return [name, text(type), address, types.join(', ') || 'none', used.join(', ') || '-', text(rate)];
    }),
  ];
}

export async function showConnection(name: string, options: { json?: boolean }, terminal: Terminal): Promise<undefined> {
  const written = findSaved(name);
  await terminal.print(options.json ? indentedJson({ name, ...written }) : connectionText(name, written));
}

export async function removeCommand(name: string, terminal: Terminal): Promise<undefined> {
  findSaved(name);
  const { removeConnection } = await import('../../connections/connection-test.ts');
  const kept = await removeConnection(name, terminal);
  noteInAudit('connection.remove', name, terminal);
  terminal.say(
    `"${name}" is removed${kept.map((login) => `; the login "${login}" is kept, because another saved connection uses it`).join('')}`,
  );
}
