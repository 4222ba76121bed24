import { randomUUID } from 'node:crypto';
import { AutomateError, Failure } from '../../core/failure.ts';
import { readCoordinates } from '../../core/lookups/coordinates.ts';
import { countryCode, noCountry } from '../../core/lookups/country.ts';
import type { LookupDocument, LookupRequest } from '../../core/lookups/lookup.ts';
import { envOf } from '../env.ts';
import { exitCodes } from '../exit.ts';
import { noSecrets } from '../flow/flow-secrets.ts';
import type { ValuesOf } from '../options.ts';
import { openRunLedger } from '../run/run-ledger.ts';
import { geocodeText } from '../show/geocode.ts';
import { printJson } from '../show/print-json.ts';
import type { Terminal } from '../terminal.ts';
import { wire } from '../wire.ts';
import type { geocodeOptions } from './geocode-options.ts';

type GeocodeOptions = ValuesOf<typeof geocodeOptions>;

/** Metres to the farthest place that counts as near a point. */
const maxDistance = 100_000;

/** Prints the place that an address names, or the one nearest to a point. Returns the exit code: 4 if nothing was found. */
export async function geocodeCommand(address: string | undefined, options: GeocodeOptions, terminal: Terminal): Promise<number> {
  const request = requestOf(address, options);
  const document = await lookUp(request, options, terminal);
  if (!document.match) {
    terminal.say(request.lookup === 'point' ? 'no place within 100 km' : `no place fits ${JSON.stringify(address)}`);
    return exitCodes.someFailed;
  }
  if (options.json) await printJson(document, terminal);
  else await terminal.print(geocodeText(document));
  return exitCodes.success;
}

function requestOf(address: string | undefined, { point, country }: GeocodeOptions): LookupRequest & { lookup: 'address' | 'point' } {
  if ((address === undefined) === (point === undefined)) {
    const found = point === undefined ? '' : ', found both';
    throw new AutomateError('usage', `expected an address or --point LAT,LON${found}\nautomate geocode "Paris, TX"`);
  }
  const codes = country?.split(',').map(codeOf);
  if (point !== undefined) return { kind: 'lookup', lookup: 'point', query: { ...pointOf(point), country: codes, maxDistance } };
  return { kind: 'lookup', lookup: 'address', query: { address: textOf(address ?? ''), country: codes } };
}

function textOf(address: string): string {
  if (/[\p{L}\p{N}]/u.test(address) && address.length <= 500) return address;
  throw new AutomateError('usage', `expected an address of 1 to 500 characters, found ${JSON.stringify(address.slice(0, 40))}`);
}

function codeOf(text: string): string {
  const code = countryCode(text);
  if (code === undefined) throw new AutomateError('usage', noCountry(text));
  return code;
}

function pointOf(text: string): { lat: number; lon: number } {
  const [lat = '', lon = '', ...more] = text.split(',');
  try {
    if (more.length === 0 && text.includes(',')) return readCoordinates(lat, lon);
  } catch (error) {
    throw error instanceof Failure ? new AutomateError('usage', error.message) : error;
  }
  throw new AutomateError('usage', `expected two numbers with a comma between them, such as 52.52,13.405, found ${JSON.stringify(text)}`);
}

/** Answers the request for one credit. */
async function lookUp(request: LookupRequest, { env }: GeocodeOptions, { redactor, warn }: Terminal): Promise<LookupDocument> {
  const node = 'geocode';
  const price = { credits: 1, account: { flow: 'automate geocode', node, connection: '', env: envOf(env) } };
  const ledger = await openRunLedger(new Map([[node, price]]), { run: randomUUID(), env, warn });
  const ports = wire({ credentials: noSecrets, redactor, allowHttp: false, cacert: undefined, ledger, env, report: () => {}, warn });
  try {
    const refusal = ledger.hold(node);
    if (refusal !== undefined) throw new AutomateError('credits', refusal);
    const { body } = await ports.lookups.find(request);
    ledger.settle(node);
    return body;
  } finally {
    await ports.close();
    ledger.close();
  }
}
